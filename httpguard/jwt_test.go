package httpguard_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/golang-jwt/jwt/v5"

	"github.com/reprise-dev/reprise/httpguard"
)

// issuer makes tokens and serves the key set that verifies them.
type issuer struct {
	key    *ecdsa.PrivateKey
	server *httptest.Server
	down   atomic.Bool
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: "one", ALG: jwkset.AlgES256}})
	if err != nil {
		t.Fatal(err)
	}
	set, err := json.Marshal(jwkset.JWKSMarshal{Keys: []jwkset.JWKMarshal{jwk.Marshal()}})
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	i.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if i.down.Load() {
			http.Error(w, "down", 503)
			return
		}
		_, _ = w.Write(set)
	}))
	t.Cleanup(i.server.Close)
	return i
}

// principal returns the principal of a key set that is kept until the test ends.
func (i *issuer) principal(t *testing.T, o httpguard.JWTOptions) httpguard.Principal {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	o.JWKS, o.Client = i.server.URL, i.server.Client()
	p, err := httpguard.JWT(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func claims(extra jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"iss": "https://issuer", "aud": "orders", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range extra {
		if value == nil {
			delete(c, name)
		} else {
			c[name] = value
		}
	}
	return c
}

func (i *issuer) token(t *testing.T, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, c)
	token.Header["kid"] = "one"
	signed, err := token.SignedString(i.key)
	if err != nil {
		t.Fatal(err)
	}
	return "Authorization: Bearer " + signed
}

func TestJWTPrincipal(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	h := guarded(t, i.principal(t, httpguard.JWTOptions{}))
	issued := time.Now()
	wantTwoCallers(t, func(caller string) http.Header {
		issued = issued.Add(time.Second) // a renewed token is the same caller
		return record(h, "k1", i.token(t, claims(jwt.MapClaims{"sub": caller, "iat": issued.Unix()}))).Header()
	})
	for name, c := range map[string]jwt.MapClaims{
		"another issuer":        {"iss": "https://other"},
		"no issuer":             {"iss": nil},
		"parts shifted":         {"iss": "https://issuer:sub:salice", "sub": "x"},
		"a number":              {"sub": 7},
		"the same, as a string": {"sub": "7"},
	} {
		if w := record(h, "k1", i.token(t, claims(c))); w.Code != 201 || w.Header().Get(httpguard.HeaderReplayed) != "" {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	h := guarded(t, i.principal(t, httpguard.JWTOptions{Issuer: "https://issuer", Audience: "orders"}))
	hmac := jwt.NewWithClaims(jwt.SigningMethodHS256, claims(nil))
	hmac.Header["kid"] = "one"
	symmetric, _ := hmac.SignedString([]byte("the public key is no secret"))
	unsigned, _ := jwt.NewWithClaims(jwt.SigningMethodNone, claims(nil)).SignedString(jwt.UnsafeAllowNoneSignatureType)
	good := i.token(t, claims(nil))
	for name, c := range map[string]struct {
		header  string
		status  int
		problem string
	}{
		"good":              {good, 201, ""},
		"changed":           {good[:len(good)-4] + "AAAA", 401, "principal-invalid"},
		"expired":           {i.token(t, claims(jwt.MapClaims{"exp": 1})), 401, "principal-invalid"},
		"never expires":     {i.token(t, claims(jwt.MapClaims{"exp": nil})), 401, "principal-invalid"},
		"another issuer":    {i.token(t, claims(jwt.MapClaims{"iss": "x"})), 401, "principal-invalid"},
		"another audience":  {i.token(t, claims(jwt.MapClaims{"aud": "x"})), 401, "principal-invalid"},
		"signed by another": {newIssuer(t).token(t, claims(nil)), 401, "principal-invalid"},
		"symmetric":         {"Authorization: Bearer " + symmetric, 401, "principal-invalid"},
		"unsigned":          {"Authorization: Bearer " + unsigned, 401, "principal-invalid"},
		"not a token":       {"Authorization: Bearer x", 401, "principal-invalid"},
		"not a bearer":      {"Authorization: Basic eDp5", 400, "principal-missing"},
		"missing":           {"X-None: x", 400, "principal-missing"},
		"no claim":          {i.token(t, claims(jwt.MapClaims{"sub": nil})), 400, "principal-missing"},
		"empty claim":       {i.token(t, claims(jwt.MapClaims{"sub": ""})), 400, "principal-missing"},
		"claim is a list":   {i.token(t, claims(jwt.MapClaims{"sub": []string{"a"}})), 400, "principal-missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := record(h, "k-"+strings.ReplaceAll(name, " ", "-"), c.header)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.problem) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); (challenge != "") != (c.status == 401) {
				t.Errorf("challenge %q with %d", challenge, w.Code)
			}
		})
	}
}

// While the key set cannot be read nobody's token is called invalid, and nothing runs.
func TestKeySetCannotBeRead(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.down.Store(true)
	h := guarded(t, i.principal(t, httpguard.JWTOptions{}))
	w := record(h, "k1", i.token(t, claims(nil)))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "principal-unavailable") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestJWTOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]httpguard.JWTOptions{
		"no keys":  {},
		"two ways": {JWKS: "http://localhost", Keyfunc: func(*jwt.Token) (any, error) { return nil, nil }},
		"no URL":   {JWKS: "::"},
	} {
		if _, err := httpguard.JWT(t.Context(), o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
