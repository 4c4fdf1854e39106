// Package tokentest is an issuer of tokens for tests: it signs them, and serves the key set that verifies them.
package tokentest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"
)

// Issuer makes tokens with the key that it has now.
type Issuer struct {
	// Server serves the key set at its URL, until the end of the test.
	Server *httptest.Server
	// KID is the name of the key in tokens; empty: they do not name it.
	KID string
	// Down makes it answer 503.
	Down atomic.Bool
	// Reads is called for each read of the set.
	Reads atomic.Pointer[func()]

	key *ecdsa.PrivateKey
	set atomic.Pointer[[]byte]
}

// New returns an issuer whose key has the name "one".
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	i.Rotate(t, "one")
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if read := i.Reads.Load(); read != nil {
			(*read)()
		}
		if i.Down.Load() {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write(*i.set.Load())
	}))
	t.Cleanup(i.Server.Close)
	return i
}

// Rotate replaces the key: the one before is not in the set any more.
func (i *Issuer) Rotate(t testing.TB, kid string) {
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
	i.key, i.KID = key, kid
	i.set.Store(&set)
}

// Token signs claims with the key.
func (i *Issuer) Token(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	if i.KID != "" {
		token.Header["kid"] = i.KID
	}
	signed, err := token.SignedString(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}
