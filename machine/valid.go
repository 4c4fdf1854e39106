package machine

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits on what a record holds. They are wide: their use is that a mistake is told, not stored.
const (
	MaxOperationName = 256
	MaxCodecName     = 64
	MaxReason        = 4096
	MaxStatement     = 16 << 10 // who, why, evidence of a settlement
	MaxLease         = 30 * 24 * time.Hour
	MaxRemember      = 100 * 365 * 24 * time.Hour
)

// ValidOperationName reports whether a name can be that of an operation. Control characters are out:
// not every store can hold them, and names are printed for people.
func ValidOperationName(name string) bool {
	if name == "" || len(name) > MaxOperationName || !utf8.ValidString(name) {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] == 0x7f {
			return false
		}
	}
	return true
}

func (s Scope) invalid() string {
	switch {
	case !ValidOperationName(s.Operation):
		return fmt.Sprintf("the operation's name must be 1 to %d bytes of UTF-8 without control characters", MaxOperationName)
	case s.Digest.IsZero():
		return "the scope has no digest"
	}
	return ""
}

func invalidLease(d time.Duration) string {
	if d < time.Millisecond || d > MaxLease {
		return fmt.Sprintf("a lease must be between 1ms and %v, not %v", MaxLease, d)
	}
	return ""
}

func invalidRemember(d time.Duration) string {
	if d < time.Millisecond || d > MaxRemember {
		return fmt.Sprintf("a finished record must be remembered between 1ms and %v, not %v", MaxRemember, d)
	}
	return ""
}

func invalidWindow(window, remember time.Duration) string {
	if window < 0 || window > remember {
		return fmt.Sprintf("the replay window (%v) must be between 0 and the time the record is remembered (%v)", window, remember)
	}
	return ""
}

func (r Response) invalid() string {
	switch {
	case r.Codec == "" || len(r.Codec) > MaxCodecName:
		return fmt.Sprintf("a response's codec must be named, in at most %d bytes", MaxCodecName)
	case r.Digest.IsZero():
		return "the response has no digest; make it with NewResponse"
	}
	return ""
}

// empty reports whether nothing at all is said of a response. What is said without a codec would not be stored.
func (r Response) empty() bool {
	return r.IsZero() && len(r.Data) == 0 && r.Digest.IsZero() && !r.NotKept && r.Sealed == ""
}

func first(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

func when(bad bool, reason string) string {
	if bad {
		return reason
	}
	return ""
}

// Invalid implements [Command].
func (c Claim) Invalid() string {
	return first(c.Scope.invalid(),
		when(c.Owner.IsZero(), "the claim has no owner token"),
		when(c.Operation.IsZero(), "the claim has no operation id"),
		when(len(c.Fingerprints) == 0, "the claim has no fingerprint"),
		when(c.Interruption > Rerun, "unknown interruption policy"),
		invalidLease(c.Lease))
}

// Invalid implements [Command].
func (c Begin) Invalid() string {
	return first(c.Claim.Invalid(), when(c.Nonce.IsZero(), "begin has no invocation nonce"))
}

func (h Hold) invalid() string {
	return first(h.Scope.invalid(),
		when(h.Owner.IsZero(), "the command has no owner token"),
		when(h.Operation.IsZero(), "the command has no operation id"),
		when(h.Attempt == 0, "the command names no attempt"),
		when(h.Revision == 0, "the command names no revision"))
}

// Invalid implements [Command].
func (c Start) Invalid() string {
	return first(c.Hold.invalid(), when(c.Nonce.IsZero(), "start has no invocation nonce"), invalidLease(c.Lease))
}

// Invalid implements [Command].
func (c Renew) Invalid() string { return first(c.Hold.invalid(), invalidLease(c.Lease)) }

// Invalid implements [Command].
func (c Complete) Invalid() string {
	return first(c.Hold.invalid(), c.Response.invalid(), invalidRemember(c.Remember), invalidWindow(c.Window, c.Remember))
}

// Invalid implements [Command].
func (c Fail) Invalid() string {
	reason := first(c.Hold.invalid(), when(len(c.Reason) > MaxReason, "the reason is longer than 4096 bytes"))
	if reason == "" && !c.Evidence.empty() {
		reason = c.Evidence.invalid()
	}
	if reason == "" && c.NoEffect {
		reason = invalidRemember(c.Remember)
	}
	return reason
}

// Invalid implements [Command].
func (c Release) Invalid() string { return c.Hold.invalid() }

// Invalid implements [Command].
func (c Settle) Invalid() string {
	reason := first(when(c.Scope.Digest.IsZero(), "the scope has no digest"),
		when(c.Operation.IsZero(), "the command has no operation id"),
		when(c.Revision == 0, "settle names no revision: look at the record first, then name the revision that was judged"),
		when(strings.TrimSpace(c.Who) == "", "settle does not say who decides"),
		when(strings.TrimSpace(c.Why) == "", "settle does not say why"),
		when(max(len(c.Who), len(c.Why), len(c.Evidence)) > MaxStatement, "who, why and evidence are limited to 16384 bytes each"),
		invalidRemember(c.Remember))
	if reason == "" && c.Completed {
		reason = first(c.Response.invalid(), invalidWindow(c.Window, c.Remember))
	}
	return reason
}

// Invalid implements [Command].
func (c Inspect) Invalid() string { return when(c.Scope.Digest.IsZero(), "the scope has no digest") }

// Invalid implements [Command].
func (c Forget) Invalid() string { return when(c.Scope.Digest.IsZero(), "the scope has no digest") }
