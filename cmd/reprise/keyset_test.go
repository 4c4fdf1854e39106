package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// issuer serves the key set that verifies its tokens.
type issuer struct {
	*httptest.Server
	set atomic.Pointer[[]byte]
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(*i.set.Load()) }))
	t.Cleanup(i.Close)
	return i
}

// rotate replaces the key, and returns a token that is signed with the new one.
func (i *issuer) rotate(t *testing.T, kid string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: kid, ALG: jwkset.AlgES256}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{jwk.Marshal()}})
	if err != nil {
		t.Fatal(err)
	}
	i.set.Store(&set)
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": "https://issuer", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
	token.Header["kid"] = kid
	signed, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// A proxy that has started reads the key set again when the issuer has a new key, before a reload and after one.
func TestKeySetIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, reload := range map[string]bool{"started": false, "reloaded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up, keys := newUpstream(t, nil), newIssuer(t)
			token := keys.rotate(t, "one")
			p := startProxy(t, t.TempDir(), []string{"REPRISE_JWT_JWKS=" + keys.URL}, "--upstream", up.URL, "--principal", "jwt:sub", "--store", "memory:")
			if g := p.as(token); g.status != http.StatusOK || g.replayed {
				t.Errorf("a token of the first key: %+v", g)
			}
			if reload {
				p.signal(syscall.SIGHUP)
				p.await("reloaded")
			}
			renewed := keys.rotate(t, "two")
			if g := p.as(renewed); g.status != http.StatusOK || !g.replayed {
				t.Errorf("a token of the second key, and the same caller: %+v", g)
			}
			if g := p.as(token); g.status == http.StatusOK {
				t.Errorf("a token of the key that was withdrawn: %+v", g)
			}
		})
	}
}

// as sends a request with a bearer token and a key.
func (p *proxyProcess) as(token string) got {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://"+p.address+"/orders", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Idempotency-Key", "one")
	return fetch(http.DefaultClient, r)
}
