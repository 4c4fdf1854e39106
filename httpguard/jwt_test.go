package httpguard_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/internal/tokentest"
)

// issuer is an issuer whose key set is that of a principal.
type issuer struct{ *tokentest.Issuer }

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	return &issuer{tokentest.New(t)}
}

// principal returns the principal of a key set that is kept until the test ends.
func (i *issuer) principal(t *testing.T, o httpguard.JWTOptions) httpguard.Principal {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	o.JWKS, o.Client = i.Server.URL, i.Server.Client()
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
	return "Authorization: Bearer " + i.Token(t, c)
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
	i.Down.Store(true)
	h := guarded(t, i.principal(t, httpguard.JWTOptions{}))
	w := record(h, "k1", i.token(t, claims(nil)))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "principal-unavailable") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Nor is it while a set that was read once cannot be read again, and the token names a key that is not in it.
func TestRotatedWhileTheKeySetCannotBeRead(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	h := guarded(t, i.principal(t, httpguard.JWTOptions{}))
	before := i.token(t, claims(nil))
	i.Down.Store(true)
	i.Rotate(t, "two")
	for try := range 2 { // the second does not ask again so soon
		if w := record(h, "k1", i.token(t, claims(nil))); w.Code != 503 || !strings.Contains(w.Body.String(), "principal-unavailable") {
			t.Errorf("try %d: %d %s", try, w.Code, w.Body)
		}
	}
	if w := record(h, "k1", before); w.Code != 201 {
		t.Errorf("a key that is known: %d %s", w.Code, w.Body)
	}
}

// A token is not invalid because its key is being asked for on behalf of another one. One whose key is not in the set that was read
// for it is.
func TestTokensThatComeWithANewKeyTogether(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	h := guarded(t, i.principal(t, httpguard.JWTOptions{}))
	i.Rotate(t, "two")
	arrived, release := make(chan struct{}), make(chan struct{})
	read := func() { close(arrived); <-release }
	i.Reads.Store(&read)
	token, first := i.token(t, claims(nil)), make(chan *httptest.ResponseRecorder)
	go func() { first <- record(h, "k1", token) }()
	<-arrived
	if w := record(h, "k2", token); w.Code != 503 || !strings.Contains(w.Body.String(), "principal-unavailable") {
		t.Errorf("while the set is read: %d %s", w.Code, w.Body)
	}
	close(release)
	if w := <-first; w.Code != 201 {
		t.Errorf("for whom it was read: %d %s", w.Code, w.Body)
	}
	if w := record(h, "k2", token); w.Code != 201 {
		t.Errorf("afterwards: %d %s", w.Code, w.Body)
	}
	i = newIssuer(t)
	h = guarded(t, i.principal(t, httpguard.JWTOptions{}))
	i.KID = "nobody's"
	if w := record(h, "k3", i.token(t, claims(nil))); w.Code != 401 {
		t.Errorf("a key that nobody has: %d %s", w.Code, w.Body)
	}
}

// Tokens that do not name their key are no exception, and a set that could not be read at the start is read for them.
func TestUnnamedKeys(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.Down.Store(true)
	i.Rotate(t, "")
	down, back := guarded(t, i.principal(t, httpguard.JWTOptions{})), guarded(t, i.principal(t, httpguard.JWTOptions{}))
	if w := record(down, "k1", i.token(t, claims(nil))); w.Code != 503 || !strings.Contains(w.Body.String(), "principal-unavailable") {
		t.Errorf("down: %d %s", w.Code, w.Body)
	}
	i.Down.Store(false)
	if w := record(back, "k1", i.token(t, claims(nil))); w.Code != 201 {
		t.Errorf("back: %d %s", w.Code, w.Body)
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
