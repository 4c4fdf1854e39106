package meterredis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/reprise-dev/reprise/meter"
)

// shadowPrefix is how the names of all keys of shadows begin.
const shadowPrefix = "shadow:"

// OpenShadow makes a meter beside the one that a DSN names, in the same Redis, under a prefix of its own: for a drill, which must not touch
// what lives. The caller removes it with [Meter.Remove] and closes it.
func OpenShadow(ctx context.Context, dsn string, options Options, who string, log *slog.Logger) (*Meter, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN of Redis: %w", err)
	}
	options.Prefix = shadowPrefix + rand.Text() + ":"
	query := u.Query()
	query.Set("prefix", options.Prefix+"records:")
	u.RawQuery = query.Encode()
	var g [16]byte
	_, _ = rand.Read(g[:]) // never fails
	if err := Renew(ctx, u.String(), meter.Generation(hex.EncodeToString(g[:])), who, "a drill", log); err != nil {
		return nil, err
	}
	return Open(ctx, u.String(), options, log)
}

// removeStep is how many places of its table a server looks at at once.
const removeStep = 1000

// Remove deletes all keys of a shadow, and returns how many there were. A meter that is none is left.
func (m *Meter) Remove(ctx context.Context) (removed int, err error) {
	if m.names.prefix == "" {
		return 0, errors.New("this meter is not a shadow: it is not removed")
	}
	err = m.EachKey(ctx, func(key string) error {
		if err := m.client.Do(ctx, m.client.B().Unlink().Key(key).Build()).Error(); err != nil {
			return failed("remove the shadow", err)
		}
		removed++
		return nil
	})
	return removed, err
}
