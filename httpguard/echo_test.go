package httpguard_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store"
)

// stored returns all that the store holds, as bytes.
func (s *service) stored() []byte {
	s.t.Helper()
	page, err := s.bench.Store.List(s.t.Context(), store.Filter{}, "", 100)
	if err != nil || len(page.Records) == 0 {
		s.t.Fatalf("%d records, %v", len(page.Records), err)
	}
	var all []byte
	for _, r := range page.Records {
		if all, err = r.AppendBinary(all); err != nil {
			s.t.Fatal(err)
		}
	}
	return all
}

// own is a principal of a user's own that names its header.
type own struct{}

func (own) Header() string                            { return "x-api-key" }
func (own) Principal(r *http.Request) (string, error) { return r.Header.Get("X-Api-Key"), nil }

// Servers echo keys, and some what they are sent of who sends it. Such a header is recorded without its
// value, and a replay has it from the request that it answers.
func TestEchoes(t *testing.T) {
	t.Parallel()
	const key, caller = "very-secret-key", "sesame-of-alice"
	echo := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header()[name] = r.Header[name]
			delete(r.Header, name) // handlers may
		}
	}
	set := func(name, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(name, value) }
	}
	for name, c := range map[string]struct {
		options httpguard.Options
		lines   []string
		handler http.HandlerFunc
		header  string
		again   string // the header of a replay
	}{
		"key":                    {httpguard.Options{}, []string{"Idempotency-Key: " + key}, echo("Idempotency-Key"), "Idempotency-Key", key},
		"quoted key":             {httpguard.Options{}, []string{`Idempotency-Key: "` + key + `"`}, echo("Idempotency-Key"), "Idempotency-Key", `"` + key + `"`},
		"quoted key, echoed raw": {httpguard.Options{}, []string{`Idempotency-Key: "` + key + `"`}, set("Idempotency-Key", key), "Idempotency-Key", `"` + key + `"`},
		"raw key, echoed quoted": {httpguard.Options{}, []string{"Idempotency-Key: " + key}, set("Idempotency-Key", `"`+key+`"`), "Idempotency-Key", key},
		"key among words":        {httpguard.Options{}, []string{"Idempotency-Key: " + key}, set("Idempotency-Key", key+"; first"), "Idempotency-Key", ""},
		"another key":            {httpguard.Options{}, []string{"Idempotency-Key: " + key}, set("Idempotency-Key", "k2"), "Idempotency-Key", "k2"},
		"no key":                 {httpguard.Options{}, []string{"Idempotency-Key: " + key}, echo("Absent"), "Idempotency-Key", ""},
		"other header":           {httpguard.Options{Header: "X-Request-Key"}, []string{"X-Request-Key: " + key}, echo("X-Request-Key"), "X-Request-Key", key},
		"authorization":          {httpguard.Options{Principal: httpguard.Authorization()}, []string{"Idempotency-Key: k", "Authorization: Bearer " + caller}, echo("Authorization"), "Authorization", "Bearer " + caller},
		"credentials":            {httpguard.Options{Principal: httpguard.Authorization()}, []string{"Idempotency-Key: k", "Authorization: Bearer " + caller}, set("Authorization", caller), "Authorization", "Bearer " + caller},
		"of nobody's":            {httpguard.Options{}, []string{"Idempotency-Key: k", "Authorization: Bearer " + caller}, echo("Authorization"), "Authorization", "Bearer " + caller},
		"cookie":                 {httpguard.Options{}, []string{"Idempotency-Key: k", "Cookie: session=" + caller}, echo("Cookie"), "Cookie", "session=" + caller},
		"principal's header":     {httpguard.Options{Principal: httpguard.Header("X-User")}, []string{"Idempotency-Key: k", "X-User: " + caller}, echo("X-User"), "X-User", caller},
		"own principal":          {httpguard.Options{Principal: own{}}, []string{"Idempotency-Key: k", "X-Api-Key: " + caller}, echo("X-Api-Key"), "X-Api-Key", caller},
		"part of a word":         {httpguard.Options{Principal: httpguard.Header("X-User")}, []string{"Idempotency-Key: k", "X-User: 7"}, set("X-User", "17"), "X-User", "17"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, reprise.Policy{}, c.options, c.handler)
			if first := s.send("POST", "/orders", "x", c.lines...); first.status != 200 || (first.header.Get(c.header) == "") != (name == "no key") {
				t.Errorf("first: %d %v", first.status, first.header)
			}
			again := s.send("POST", "/orders", "x", c.lines...)
			if again.header.Get(httpguard.HeaderReplayed) != "true" || again.header.Get(c.header) != c.again {
				t.Errorf("replay: %d %v, want %s: %s", again.status, again.header, c.header, c.again)
			}
			for _, secret := range []string{key, caller} {
				if bytes.Contains(s.stored(), []byte(secret)) {
					t.Errorf("%q is in the record", secret)
				}
			}
		})
	}
}

// Where callers share keys, one gets its own header back and not that of the other.
func TestEchoIsNotAnothers(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Authorization"] = r.Header["Authorization"]
	})
	for caller, want := range map[string]string{"Bearer alice": "Bearer alice", "Bearer bob": "Bearer bob"} {
		if a := s.send("POST", "/orders", "x", "Idempotency-Key: k", "Authorization: "+caller); a.header.Get("Authorization") != want {
			t.Errorf("%s: %v", caller, a.header)
		}
	}
	if a := s.send("POST", "/orders", "x", "Idempotency-Key: k"); a.header.Get("Authorization") != "" || a.status != 200 {
		t.Errorf("nobody: %v", a.header)
	}
}

// What a handler says about its answer is kept for the operator, without who asked.
func TestReasonsNameNobody(t *testing.T) {
	t.Parallel()
	s := serve(t, reprise.Policy{}, httpguard.Options{Principal: httpguard.Header("X-User")}, func(w http.ResponseWriter, r *http.Request) {
		httpguard.Report(r.Context(), httpguard.Unknown, fmt.Sprintf("no answer for %s, key %s", r.Header.Get("X-User"), r.Header.Get("Idempotency-Key")))
	})
	s.send("POST", "/orders", "x", "Idempotency-Key: very-secret-key", "X-User: alice")
	text := string(s.stored())
	if strings.Contains(text, "alice") || strings.Contains(text, "very-secret-key") || !strings.Contains(text, "no answer for [X-User], key [Idempotency-Key]") {
		t.Errorf("recorded: %q", text)
	}
}
