package httpguard

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise"
)

// Defaults of [Options].
const (
	DefaultHeader  = "Idempotency-Key"
	DefaultMaxBody = 10 << 20
)

// Options say which requests are guarded and how. The zero value of every field but Principal is a
// sensible default, named at the field.
type Options struct {
	// Operation names what a request does; the name is part of the key and is stored in clear. Default
	// [MethodAndPath].
	Operation func(*http.Request) string
	// Methods are those that are guarded. Default POST and PATCH.
	Methods []string
	// Header is the name of the key's header. Default Idempotency-Key.
	Header string
	// Required refuses requests without a key. By default they pass through untouched.
	Required bool
	// Strict takes keys only as the structured-field string of the draft, in double quotes. By default
	// the raw spelling is taken too; both are one key.
	Strict bool
	// Principal tells callers apart, so that none gets another's answer. Required: it has no default.
	Principal Principal
	// Exclude leaves what changes between retries out of the comparison of requests: fields of JSON
	// bodies as JSON pointers ("/meta/sentAt") and query parameters ("?ts").
	Exclude []string
	// ExcludedBefore are earlier values of Exclude. Records that were made under them are compared by
	// them. Without that, a retry across the change is refused as answer-incompatible.
	ExcludedBefore [][]string
	// MaxBody is the size in bytes up to which a request body is accepted. Default 10 MiB.
	MaxBody int64
	// MaxKept is the size in bytes, headers included, up to which an answer is kept for replay. Default,
	// and at most, the MaxKept of the guard's policy (2 MiB).
	MaxKept int
	// Upstream says that the handler forwards to another server. Then 502, 503 and 504 leave the
	// outcome unknown, and the answer's header Reprise-No-Effect is honoured and removed.
	Upstream bool
	// NoEffect, Unknown and Final are statuses that override what an answer's status means by default.
	NoEffect, Unknown, Final []int
	// Statuses override the status of problems, by type ("in-progress": 425).
	Statuses map[string]int
	// FailOpen runs requests unguarded while the store cannot be asked. By default they get 503. A
	// store that has lost its data is not failed open.
	FailOpen bool
	// Log receives what goes wrong on this side. Keys and principals are never in it. Default: nothing.
	Log *slog.Logger
	// Observe is called once for each request, after it. It must be safe for concurrent use.
	Observe func(Event)
}

// ownHeaders are those of this package's own, which cannot be the key's.
var ownHeaders = [...]string{HeaderReplayed, HeaderStoredAt, HeaderRecorded, HeaderNoEffect}

// OwnHeader reports whether a header has a meaning of this package's own, so that a key cannot be in it.
func OwnHeader(name string) bool {
	return slices.Contains(ownHeaders[:], http.CanonicalHeaderKey(name))
}

// CheckExclude reports what is wrong with a value of [Options.Exclude], or nil.
func CheckExclude(exclude []string) error {
	_, err := newFingerprinter(exclude)
	return err
}

// withDefaults fills in what is zero.
func (o Options) withDefaults(p reprise.Policy) Options {
	if o.Operation == nil {
		o.Operation = MethodAndPath
	}
	if len(o.Methods) == 0 {
		o.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if o.Header == "" {
		o.Header = DefaultHeader
	}
	o.Header = http.CanonicalHeaderKey(o.Header)
	if o.MaxBody == 0 {
		o.MaxBody = DefaultMaxBody
	}
	if o.MaxKept == 0 {
		o.MaxKept = p.MaxKept
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// check reports what is wrong with the options, defaults filled in.
func (o Options) check(p reprise.Policy) error {
	switch {
	case o.Principal == nil:
		return fmt.Errorf("httpguard: Options.Principal is missing: choose what tells callers apart, so that none gets another's answer.\n" +
			`Authorization() for fixed credentials, Header("X-User") behind a gateway, JWT(…), Certificate(); None() only if all callers may share keys`)
	case !isToken(o.Header):
		return fmt.Errorf("httpguard: Options.Header %q is not a header name", o.Header)
	case TakenOut(o.Header):
		return fmt.Errorf("httpguard: Options.Header %q is taken out of requests before handlers see them: choose another name", o.Header)
	case OwnHeader(o.Header):
		return fmt.Errorf("httpguard: Options.Header %q has a meaning of its own: choose another name", o.Header)
	case o.MaxBody < 0 || o.MaxKept < 0:
		return fmt.Errorf("httpguard: MaxBody and MaxKept cannot be negative")
	case o.MaxKept > p.MaxKept:
		return fmt.Errorf("httpguard: Options.MaxKept %d is above the guard's Policy.MaxKept %d: raise that first", o.MaxKept, p.MaxKept)
	}
	for _, method := range o.Methods {
		if method == "" || method != strings.ToUpper(method) || strings.ContainsAny(method, " \t,") {
			return fmt.Errorf("httpguard: Options.Methods: %q is not a method in upper case", method)
		}
	}
	if c, ok := o.Principal.(interface{ check() error }); ok {
		if err := c.check(); err != nil {
			return err
		}
	}
	return checkStatuses(o.Statuses)
}
