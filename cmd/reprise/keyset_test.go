package main

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/reprise-dev/reprise/internal/tokentest"
)

// A proxy that has started reads the key set again when the issuer has a new key, before a reload and after one.
func TestKeySetIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, reload := range map[string]bool{"started": false, "reloaded": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up, keys := newUpstream(t, nil), tokentest.New(t)
			alice := jwt.MapClaims{"iss": "https://issuer", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
			token := keys.Token(t, alice)
			p := startProxy(t, t.TempDir(), []string{"REPRISE_JWT_JWKS=" + keys.Server.URL}, "--upstream", up.URL, "--principal", "jwt:sub", "--store", "memory:")
			if g := p.as(token); g.status != http.StatusOK || g.replayed {
				t.Errorf("a token of the first key: %+v", g)
			}
			if reload {
				p.signal(syscall.SIGHUP)
				p.await("reloaded")
			}
			keys.Rotate(t, "two")
			renewed := keys.Token(t, alice)
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
