package httpguard_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/reprisetest"
)

// guarded returns a handler that is guarded under a principal.
func guarded(t *testing.T, p httpguard.Principal) http.Handler {
	t.Helper()
	m, err := httpguard.New(reprisetest.New(t, reprise.Policy{}).Guard, httpguard.Options{Principal: p})
	if err != nil {
		t.Fatal(err)
	}
	return m.Wrap(http.HandlerFunc(created))
}

// wantTwoCallers fails the test unless two callers with one key each get an answer of their own, and each
// its own again.
func wantTwoCallers(t *testing.T, send func(caller string) http.Header) {
	t.Helper()
	for _, caller := range []string{"alice", "bob"} {
		if h := send(caller); h.Get("Location") == "" || h.Get(httpguard.HeaderReplayed) != "" {
			t.Errorf("%s first: %v", caller, h)
		}
	}
	for _, caller := range []string{"alice", "bob"} {
		if h := send(caller); h.Get(httpguard.HeaderReplayed) != "true" {
			t.Errorf("%s again: %v", caller, h)
		}
	}
}

func TestAuthorizationPrincipal(t *testing.T) {
	t.Parallel()
	h := guarded(t, httpguard.Authorization())
	wantTwoCallers(t, func(caller string) http.Header {
		return record(h, "k1", "Authorization: Bearer "+caller).Header()
	})
	for name, lines := range map[string][]string{
		"missing":   nil,
		"blank":     {"Authorization:  "},
		"twice":     {"Authorization: Bearer a", "Authorization: Bearer a"},
		"DPoP":      {"Authorization: DPoP token"},
		"AWS":       {"Authorization: AWS4-HMAC-SHA256 Credential=a"},
		"Digest":    {`Authorization: Digest username="a"`},
		"OAuth":     {`Authorization: OAuth oauth_nonce="a"`},
		"spelling":  {"Authorization: dIgEsT x"},
		"Signature": {"Authorization: Signature x"},
		"SCRAM":     {"Authorization: SCRAM-SHA-256 x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := record(h, "k2", lines...)
			if w.Code != 400 || !strings.Contains(w.Body.String(), "principal-missing") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

func TestHeaderPrincipal(t *testing.T) {
	t.Parallel()
	h := guarded(t, httpguard.Header("x-user"))
	wantTwoCallers(t, func(caller string) http.Header { return record(h, "k1", "X-User: "+caller).Header() })
	for name, lines := range map[string][]string{
		"missing": nil,
		"blank":   {"X-User:  "},
		"twice":   {"X-User: alice", "X-User: bob"},
	} {
		if w := record(h, "k2", lines...); w.Code != 400 || !strings.Contains(w.Body.String(), "principal-missing") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestCertificatePrincipal(t *testing.T) {
	t.Parallel()
	h := guarded(t, httpguard.Certificate())
	send := func(state *tls.ConnectionState) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader("x"))
		r.Header.Set("Idempotency-Key", "k1")
		r.TLS = state
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	wantTwoCallers(t, func(caller string) http.Header {
		// The same names, as certificates of different callers can have; other keys.
		leaf := &x509.Certificate{RawSubject: []byte("same"), RawSubjectPublicKeyInfo: []byte(caller)}
		return send(&tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}).Header()
	})
	for _, none := range []*tls.ConnectionState{nil, {}} {
		if w := send(none); w.Code != 400 || !strings.Contains(w.Body.String(), "principal-missing") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

func TestNonePrincipalSharesKeys(t *testing.T) {
	t.Parallel()
	h := guarded(t, httpguard.None())
	record(h, "k1", "Authorization: Bearer alice")
	if w := record(h, "k1", "Authorization: Bearer bob"); w.Header().Get(httpguard.HeaderReplayed) != "true" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// A server takes headers of a megabyte. A principal of any length is one, told apart by its last character.
func TestLongPrincipals(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	long := strings.Repeat("u", 64<<10)
	for name, c := range map[string]struct {
		principal httpguard.Principal
		header    func(caller string) string
	}{
		"authorization": {httpguard.Authorization(), func(caller string) string { return "Authorization: Bearer " + caller }},
		"header":        {httpguard.Header("X-User"), func(caller string) string { return "X-User: " + caller }},
		"subject":       {i.principal(t, httpguard.JWTOptions{}), func(caller string) string { return i.token(t, claims(jwt.MapClaims{"sub": caller})) }},
		"issuer":        {i.principal(t, httpguard.JWTOptions{}), func(caller string) string { return i.token(t, claims(jwt.MapClaims{"iss": caller})) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := guarded(t, c.principal)
			wantTwoCallers(t, func(caller string) http.Header { return record(h, "k1", c.header(long+caller)).Header() })
		})
	}
}

type fixed string

func (f fixed) Principal(*http.Request) (string, error) { return string(f), nil }

// A name of a principal of one's own can be longer than what a key is made of. That is the request's fault.
func TestLongNameOfAnotherPrincipal(t *testing.T) {
	t.Parallel()
	if w := record(guarded(t, fixed(strings.Repeat("u", 64<<10))), "k1"); w.Code != 201 {
		t.Errorf("at the limit: %d %s", w.Code, w.Body)
	}
	w := record(guarded(t, fixed(strings.Repeat("u", 64<<10+1))), "k1")
	if w.Code != 400 || !strings.Contains(w.Body.String(), "principal-missing") || !strings.Contains(w.Body.String(), "65536") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type failing struct{}

func (failing) Principal(*http.Request) (string, error) { return "", errors.New("directory is down") }

func TestPrincipalThatCannotBeFoundOut(t *testing.T) {
	t.Parallel()
	w := record(guarded(t, failing{}), "k1")
	if w.Code != 503 || !strings.Contains(w.Body.String(), "principal-unavailable") || strings.Contains(w.Body.String(), "directory") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestParsePrincipal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, spec := range []string{"authorization", "header:X-User", "certificate", "none"} {
		if p, err := httpguard.ParsePrincipal(ctx, spec, httpguard.JWTOptions{}); p == nil || err != nil {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for _, spec := range []string{"", "Authorization", "header", "header:", "header:a b", "header:Host", "jwt", "jwt:", "none:x", "jwt:sub"} {
		if _, err := httpguard.ParsePrincipal(ctx, spec, httpguard.JWTOptions{}); err == nil {
			t.Errorf("%q was accepted", spec)
		}
	}
}
