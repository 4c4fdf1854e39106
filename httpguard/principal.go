package httpguard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise"
)

// What the error of a [Principal] says. Any other error is told to the client as 503: it could not be
// found out who asks.
var (
	// ErrNoPrincipal: the request does not say who sends it, or not in a way that can be used. 400.
	ErrNoPrincipal = errors.New("the request does not say who sends it")
	// ErrBadPrincipal: it says so and cannot prove it. 401.
	ErrBadPrincipal = errors.New("the credentials are not valid")
)

// Principal finds out who sends a request. Requests with different principals never share a key. The
// name it returns is authenticated, not empty, at most 64 KiB long, and the same in every retry; only a
// digest of it is stored. The text of its errors is shown to the client: no secrets in it.
//
// One of a user's own that reads a header should have a method Header() string that names it. If an answer
// repeats that header, it is recorded without its value, as Authorization and Cookie are in any case.
type Principal interface {
	Principal(r *http.Request) (string, error)
}

// maxPrincipal is the length in bytes of the longest name that a key is made of.
const maxPrincipal = 64 << 10

// principal asks who sends a request.
func (m *Middleware) principal(r *http.Request) (string, error) {
	name, err := m.options.Principal.Principal(r)
	if err == nil && len(name) > maxPrincipal {
		return "", fmt.Errorf("%w: the name is longer than %d bytes", ErrNoPrincipal, maxPrincipal)
	}
	return name, err
}

// Authorization tells callers apart by the value of the Authorization header, which the handler must
// check. Credentials that are renewed between retries make a retry another caller's; schemes whose value
// changes with each request are refused.
func Authorization() Principal { return authorization{} }

type authorization struct{}

// changing are the schemes whose value is another with each request, in lower case.
var changing = [...]string{"dpop", "digest", "oauth", "hawk", "signature", "negotiate", "ntlm", "mutual", "hoba", "mac"}

func (authorization) Principal(r *http.Request) (string, error) {
	value, err := only(r, "Authorization")
	if err != nil {
		return "", err
	}
	scheme, _, _ := strings.Cut(value, " ")
	scheme = strings.ToLower(scheme)
	if slices.Contains(changing[:], scheme) || strings.HasPrefix(scheme, "aws4-") || strings.HasPrefix(scheme, "scram-") {
		return "", fmt.Errorf("%w: an Authorization of the scheme %.20q is another with each request, so a retry could not be known; this server needs another way to tell callers apart", ErrNoPrincipal, scheme)
	}
	return digested("authorization:", []byte(value)), nil
}

// Header tells callers apart by a header that a gateway in front sets after it authenticated them. The
// gateway must remove what clients send under that name.
func Header(name string) Principal { return header(http.CanonicalHeaderKey(name)) }

type header string

// Header names what is read.
func (h header) Header() string { return string(h) }

func (h header) check() error {
	if !isToken(string(h)) || TakenOut(string(h)) {
		return fmt.Errorf("httpguard: principal header %q is not the name of a header that a gateway can set", string(h))
	}
	return nil
}

func (h header) Principal(r *http.Request) (string, error) {
	value, err := only(r, string(h))
	if err != nil {
		return "", err
	}
	return digested("header:"+string(h)+":", []byte(value)), nil
}

// only returns the value of a header that must be there once and not be blank.
func only(r *http.Request, name string) (string, error) {
	lines := r.Header[name]
	switch {
	case len(lines) > 1:
		return "", fmt.Errorf("%w: %s was sent %d times; send it once", ErrNoPrincipal, name, len(lines))
	case len(lines) == 0 || strings.Trim(lines[0], " \t") == "":
		return "", fmt.Errorf("%w: %s is missing", ErrNoPrincipal, name)
	}
	return lines[0], nil
}

// Certificate tells callers apart by the public key of their TLS client certificate. The server must ask
// for one. A certificate that is renewed with the same key is the same caller.
func Certificate() Principal { return certificate{} }

type certificate struct{}

func (certificate) Principal(r *http.Request) (string, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return "", fmt.Errorf("%w: the connection has no client certificate", ErrNoPrincipal)
	}
	// Names are not used: certificates of different callers can have the same subject.
	return digested("certificate:", r.TLS.PeerCertificates[0].RawSubjectPublicKeyInfo), nil
}

// digested names a caller by the digest of what is too long or too secret to be handed around.
func digested(mode string, value []byte) string {
	sum := sha256.Sum256(value)
	return string(hex.AppendEncode([]byte(mode), sum[:]))
}

// None puts all callers together: whoever knows a key gets its answer.
func None() Principal { return none{} }

type none struct{}

func (none) Principal(*http.Request) (string, error) { return reprise.Everyone, nil }

// ParsePrincipal reads "authorization", "header:NAME", "jwt:CLAIM", "certificate" or "none". For a
// token, o says how it is verified; its Claim is set from the text. ctx is that of [JWT].
func ParsePrincipal(ctx context.Context, spec string, o JWTOptions) (Principal, error) {
	mode, name, named := strings.Cut(spec, ":")
	switch {
	case mode == "header" && name != "":
		h := Header(name).(header)
		return h, h.check()
	case mode == "jwt" && name != "":
		o.Claim = name
		return JWT(ctx, o)
	case named:
	case mode == "authorization":
		return Authorization(), nil
	case mode == "certificate":
		return Certificate(), nil
	case mode == "none":
		return None(), nil
	}
	return nil, fmt.Errorf("principal %q is not one of authorization, header:NAME, jwt:CLAIM, certificate, none", spec)
}
