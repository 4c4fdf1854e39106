package httpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

// JWTOptions say how bearer tokens are verified.
type JWTOptions struct {
	// Claim names the caller. It must be a string or a number. Default "sub".
	Claim string
	// JWKS is the URL of the key set. It is read at the start, every hour, and when a token names a key
	// that is not in it, at most every 30 s. Required, unless Keyfunc is set.
	JWKS string
	// Keyfunc finds the key of a token instead of JWKS.
	Keyfunc jwt.Keyfunc
	// Issuer and Audience are what the token must name. Empty: not checked. The token's issuer is part
	// of the principal in any case.
	Issuer, Audience string
	// Leeway is by how much the clock of the issuer may differ. Default 0.
	Leeway time.Duration
	// Client reads the key set. Default [http.DefaultClient].
	Client *http.Client
	// Log receives failures to read the key set. Default: nothing.
	Log *slog.Logger
}

const (
	keySetTimeout = 5 * time.Second
	keySetRefresh = time.Hour
	keySetAgain   = 30 * time.Second
)

// asymmetric are the algorithms that are accepted. With a symmetric one, or none, whoever can read the
// public keys could make tokens.
var asymmetric = [...]string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

var errNoKeys = errors.New("the key set that verifies tokens cannot be read now")

// JWT tells callers apart by a claim of a verified bearer token, which may be renewed between retries.
// The token must expire. When ctx ends, the key set is no longer kept up to date.
func JWT(ctx context.Context, o JWTOptions) (Principal, error) {
	if o.Claim == "" {
		o.Claim = "sub"
	}
	if (o.JWKS == "") == (o.Keyfunc == nil) {
		return nil, errors.New("principal jwt: say how tokens are verified, by either the URL of a key set (JWKS) or a Keyfunc")
	}
	if o.Keyfunc == nil {
		keys, err := keySet(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("principal jwt: %w", err)
		}
		o.Keyfunc = keys
	}
	rules := []jwt.ParserOption{jwt.WithValidMethods(asymmetric[:]), jwt.WithExpirationRequired(), jwt.WithLeeway(o.Leeway), jwt.WithJSONNumber()}
	if o.Issuer != "" {
		rules = append(rules, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		rules = append(rules, jwt.WithAudience(o.Audience))
	}
	return &bearer{claim: o.Claim, keys: o.Keyfunc, parser: jwt.NewParser(rules...)}, nil
}

func keySet(ctx context.Context, o JWTOptions) (jwt.Keyfunc, error) {
	last := &lastRead{Storage: jwkset.NewMemoryStorage()}
	read, err := jwkset.NewStorageFromHTTP(o.JWKS, jwkset.HTTPClientStorageOptions{
		Client: o.Client, Ctx: ctx, HTTPTimeout: keySetTimeout, RefreshInterval: keySetRefresh, NoErrorReturnFirstHTTPReq: true, Storage: last,
		RefreshErrorHandler: func(ctx context.Context, err error) {
			last.failed.Store(true)
			if o.Log != nil {
				o.Log.WarnContext(ctx, "httpguard: the key set could not be read", "url", o.JWKS, "error", err)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	again, err := jwkset.NewHTTPClient(jwkset.HTTPClientOptions{
		HTTPURLs:          map[string]jwkset.Storage{o.JWKS: read},
		RefreshUnknownKID: rate.NewLimiter(rate.Every(keySetAgain), 1), RateLimitWaitMax: keySetTimeout,
	})
	if err != nil {
		return nil, err
	}
	set, err := keyfunc.New(keyfunc.Options{Ctx: ctx, Storage: issuerKeys{again, last}})
	if err != nil {
		return nil, err
	}
	return set.Keyfunc, nil
}

// lastRead is the key set as it was last read, and whether it could be read since. A set without keys is none.
type lastRead struct {
	jwkset.Storage
	failed atomic.Bool
}

// KeyReplaceAll implements [jwkset.Storage].
func (l *lastRead) KeyReplaceAll(ctx context.Context, keys []jwkset.JWK) error {
	l.failed.Store(len(keys) == 0)
	return l.Storage.KeyReplaceAll(ctx, keys)
}

// issuerKeys are the issuer's keys. That there is no such key is said only of a set that was read to find that out.
type issuerKeys struct {
	jwkset.Storage // reads the set again for a key that is not in it, but not too often
	last           *lastRead
}

// KeyRead implements [jwkset.Storage].
func (k issuerKeys) KeyRead(ctx context.Context, id string) (jwkset.JWK, error) {
	key, err := k.Storage.KeyRead(ctx, id)
	if err != nil && (k.last.failed.Load() || !errors.Is(err, jwkset.ErrKeyNotFound)) {
		return key, fmt.Errorf("%w: %w", errNoKeys, err)
	}
	return key, err
}

// KeyReadAll implements [jwkset.Storage], for tokens that do not name their key.
func (k issuerKeys) KeyReadAll(ctx context.Context) ([]jwkset.JWK, error) {
	if k.last.failed.Load() {
		_, _ = k.Storage.KeyRead(ctx, "") // reads the set again; whether it has that key does not matter
	}
	keys, err := k.Storage.KeyReadAll(ctx)
	if err == nil && len(keys) == 0 {
		return nil, errNoKeys
	}
	return keys, err
}

type bearer struct {
	claim  string
	keys   jwt.Keyfunc
	parser *jwt.Parser
}

func (b *bearer) Principal(r *http.Request) (string, error) {
	value, err := only(r, "Authorization")
	if err != nil {
		return "", err
	}
	scheme, token, _ := strings.Cut(value, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", fmt.Errorf("%w: Authorization is not a bearer token", ErrNoPrincipal)
	}
	claims := jwt.MapClaims{}
	if _, err := b.parser.ParseWithClaims(strings.TrimSpace(token), claims, b.keys); err != nil {
		if errors.Is(err, errNoKeys) {
			return "", errNoKeys
		}
		return "", fmt.Errorf("%w: %w", ErrBadPrincipal, err)
	}
	issuer, _ := claims["iss"].(string)
	subject, err := b.subject(claims)
	if err != nil {
		return "", err
	}
	// The issuer's length keeps the parts apart, whatever they contain.
	return digested("jwt:", []byte(strconv.Itoa(len(issuer))+":"+issuer+":"+b.claim+":"+subject)), nil
}

// subject returns the claim as text, marked so that 7 and "7" are two callers.
func (b *bearer) subject(claims jwt.MapClaims) (string, error) {
	switch v := claims[b.claim].(type) {
	case string:
		if v != "" {
			return "s" + v, nil
		}
	case json.Number:
		return "n" + v.String(), nil
	}
	return "", fmt.Errorf("%w: the token has no claim %q that is a string or a number", ErrNoPrincipal, b.claim)
}
