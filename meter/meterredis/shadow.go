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
	"github.com/reprise-dev/reprise/store"
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
	nodes, err := m.store.Primaries(ctx)
	if err != nil {
		return 0, err
	}
	for _, client := range nodes {
		for cursor := uint64(0); ; {
			entry, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(m.names.prefix+"*").Count(removeStep).Build()).AsScanEntry()
			if err != nil {
				return removed, store.Unavailable(fmt.Errorf("look for the keys of the shadow: %w", err))
			}
			for _, key := range entry.Elements {
				if err := m.client.Do(ctx, m.client.B().Unlink().Key(key).Build()).Error(); err != nil {
					return removed, failed("remove the shadow", err)
				}
				removed++
			}
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return removed, nil
}
