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
	"time"

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

var errNoKeys = errors.New("the key set that verifies tokens could not be read")

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
	set, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{o.JWKS}, keyfunc.Override{
		Client: o.Client, HTTPTimeout: keySetTimeout, RefreshInterval: keySetRefresh,
		RefreshUnknownKID: rate.NewLimiter(rate.Every(keySetAgain), 1), RateLimitWaitMax: keySetTimeout,
		RefreshErrorHandlerFunc: func(url string) func(context.Context, error) {
			return func(ctx context.Context, err error) {
				if o.Log != nil {
					o.Log.WarnContext(ctx, "httpguard: the key set could not be read", "url", url, "error", err)
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return func(token *jwt.Token) (any, error) {
		key, err := set.Keyfunc(token)
		if err == nil {
			return key, nil
		}
		if all, _ := set.Storage().KeyReadAll(ctx); len(all) == 0 {
			return nil, errNoKeys
		}
		return nil, err
	}, nil
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
