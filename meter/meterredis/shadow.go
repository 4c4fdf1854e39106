package meterredis

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// shadowPrefix is how the names of all keys of shadows begin.
const shadowPrefix = "shadow:"

// Shadow is a meter beside the one that lives, in the same Redis, under a prefix that no other shadow has or had. While its drill lives a lease says so,
// in Redis and by its clock: what is there without one was left by a drill that was killed, and [SweepShadows] removes it.
type Shadow struct{ *Meter }

// shadowLease is how long a shadow is known to be in use after the last sign of its drill.
const shadowLease = time.Minute

// ErrShadowLost is the error of a drill that gave no sign for so long that its shadow may have been removed.
var ErrShadowLost = errors.New("the drill was held up for so long that its shadow counts as left behind")

// OpenShadow makes a shadow: for a drill, which must not touch what lives. The caller keeps it with [Shadow.Keep], and at the end removes it with
// [Shadow.Remove] and closes it.
func OpenShadow(ctx context.Context, dsn string, options Options, who string, log *slog.Logger) (*Shadow, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN of Redis: %w", err)
	}
	options.Prefix = shadowPrefix + rand.Text() + ":"
	query := u.Query()
	query.Set("prefix", options.Prefix+"records:")
	u.RawQuery = query.Encode()
	servers, err := redisstore.Connect(u.String(), redisstore.Options{Log: log})
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	client := servers.Client()
	// Before everything else that the shadow has.
	if err := client.Do(ctx, client.B().Set().Key(leaseOf(options.Prefix)).Value(who).Px(shadowLease).Build()).Error(); err != nil {
		return nil, failed("begin the shadow", err)
	}
	var g [16]byte
	_, _ = rand.Read(g[:]) // never fails
	if err := Renew(ctx, u.String(), meter.Generation(hex.EncodeToString(g[:])), who, "a drill", log); err != nil {
		return nil, err
	}
	m, err := Open(ctx, u.String(), options, log)
	if err != nil {
		return nil, err
	}
	return &Shadow{m}, nil
}

// leaseOf is the key that says that a shadow is in use.
func leaseOf(prefix string) string { return prefix + "lease" }

// Keep says again and again that the shadow is in use, until the context ends: nil. [ErrShadowLost] says that it may have been removed.
func (s *Shadow) Keep(ctx context.Context) error {
	timer := time.NewTicker(shadowLease / 3)
	defer timer.Stop()
	for {
		err := s.Held(ctx)
		if errors.Is(err, ErrShadowLost) {
			return err
		}
		select { // of an error the next one finds out more
		case <-timer.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// Held says once that the shadow is in use, if it was all the time; else the error is [ErrShadowLost].
func (s *Shadow) Held(ctx context.Context) error {
	extended, err := s.client.Do(ctx, s.client.B().Pexpire().Key(leaseOf(s.names.prefix)).Milliseconds(shadowLease.Milliseconds()).Build()).AsInt64()
	switch {
	case err != nil:
		return failed("keep the shadow", err)
	case extended == 0:
		return ErrShadowLost
	}
	return nil
}

// removeStep is how many places of its table a server looks at at once.
const removeStep = 1000

// Remove deletes all keys of the shadow, and returns how many there were, but for the lease.
func (s *Shadow) Remove(ctx context.Context) (removed int, err error) {
	nodes, err := s.store.Primaries(ctx)
	if err != nil {
		return 0, err
	}
	lease := leaseOf(s.names.prefix)
	err = eachPage(ctx, nodes, s.names.prefix+"*", func(keys []string) error {
		n, err := unlink(ctx, s.client, keys, func(key string) bool { return key != lease })
		removed += n
		return err
	})
	if err == nil {
		_, err = unlink(ctx, s.client, []string{lease}, func(string) bool { return true }) // at the end: until then nobody else has to
	}
	return removed, err
}

// unlink deletes those of some keys that are chosen, and returns how many there were.
func unlink(ctx context.Context, client rueidis.Client, keys []string, chosen func(key string) bool) (removed int, err error) {
	var commands rueidis.Commands
	for _, key := range keys {
		if chosen(key) {
			commands = append(commands, client.B().Unlink().Key(key).Build())
		}
	}
	if len(commands) == 0 {
		return 0, nil
	}
	for _, reply := range client.DoMulti(ctx, commands...) {
		n, err := reply.AsInt64()
		if err != nil {
			return removed, failed("remove a shadow", err)
		}
		removed += int(n)
	}
	return removed, nil
}

// eachPage calls do with the names of keys that match, some at a time.
func eachPage(ctx context.Context, nodes []rueidis.Client, match string, do func(keys []string) error) error {
	for _, client := range nodes {
		for cursor := uint64(0); ; {
			entry, err := client.Do(ctx, client.B().Scan().Cursor(cursor).Match(match).Count(removeStep).Build()).AsScanEntry()
			if err != nil {
				return store.Unavailable(fmt.Errorf("look at the names of all keys: %w", err))
			}
			if err := do(entry.Elements); err != nil {
				return err
			}
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return nil
}
