package retryclient

import (
	"context"
	"net/http"
	"strings"

	"github.com/dunglas/httpsfv"
	"github.com/google/uuid"
)

type contextKey struct{}

// WithKey returns a context whose guarded requests carry this key instead of a new one. It is for
// asking again about a call that is unknown, and for a caller that keeps its keys itself, for example in
// the row that it is about to act on. One key is one call: do not make two different requests under it.
//
// What an error says was sent or not is about this call. Where an earlier one with the key is unknown, it stays so until there is an answer, or
// an error of the package that says what happened.
//
// A key has 1 to 255 characters from '!' to '~', without '"' and ','.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, contextKey{}, key)
}

// key is the key of one call: as it is, and as it is sent.
type key struct{ plain, header string }

// keyOf returns the key of a request: the one in its header, else the one in its context, else a new
// one. Nothing of the request goes into a new key. Credentials change between tries; the key must not.
func (t *Transport) keyOf(req *http.Request) (key, error) {
	if sent, ok := req.Header[http.CanonicalHeaderKey(t.options.Header)]; ok {
		if len(sent) != 1 || strings.TrimSpace(sent[0]) == "" {
			return key{}, invalid("the request has a %s header without exactly one value", t.options.Header)
		}
		return key{plain: unquoted(sent[0]), header: sent[0]}, nil
	}
	plain, ok := req.Context().Value(contextKey{}).(string)
	if !ok {
		id, err := uuid.NewV7()
		if err != nil {
			return key{}, invalid("no random bytes for a key: %w", err)
		}
		plain = id.String()
	}
	if !wellFormed(plain) {
		return key{}, invalid("the key is not 1 to 255 characters from ! to ~ without \" and ,")
	}
	if t.options.RawKeys {
		return key{plain: plain, header: plain}, nil
	}
	quoted, err := httpsfv.Marshal(httpsfv.NewItem(plain))
	if err != nil {
		return key{}, invalid("the key cannot be quoted: %w", err)
	}
	return key{plain: plain, header: quoted}, nil
}

func wellFormed(key string) bool {
	for _, c := range []byte(key) {
		if c < '!' || c > '~' || c == '"' || c == ',' {
			return false
		}
	}
	return key != "" && len(key) <= 255
}

// unquoted returns the key in a header that somebody else wrote, quoted or not.
func unquoted(header string) string {
	item, err := httpsfv.UnmarshalItem([]string{header})
	if err != nil {
		return header
	}
	if plain, ok := item.Value.(string); ok {
		return plain
	}
	return header
}
