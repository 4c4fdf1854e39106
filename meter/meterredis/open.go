package meterredis

import (
	"context"
	"encoding/hex"
	"log/slog"
	"net/url"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// DefaultPrefix is that of the meter's records in Redis, so that they are apart from those of a guard in the same.
const DefaultPrefix = "meter:"

// Open opens the meter in the Redis that a DSN names, as [redisstore.Open] takes it; without a prefix in it, that of the records is
// [DefaultPrefix]. The caller closes the meter. A Redis that was never hydrated is refused with an error in which
// [fs.ErrNotExist] is found.
func Open(ctx context.Context, dsn string, options Options, log *slog.Logger) (*Meter, error) {
	s, err := redisstore.Open(ctx, withPrefix(dsn), redisstore.Options{Log: log})
	if err != nil {
		return nil, err
	}
	m, err := New(s, options)
	if err != nil {
		_ = s.Close() // which changes nothing
		return nil, err
	}
	m.close = s.Close
	return m, nil
}

// Close closes the store of a meter that was opened. One that was made with [New] it leaves open.
func (m *Meter) Close() error {
	if m.close == nil {
		return nil
	}
	return m.close()
}

// Renew begins a generation in Redis: whatever is there counts for nothing until it was hydrated.
func Renew(ctx context.Context, dsn string, g meter.Generation, who, why string, log *slog.Logger) error {
	var bytes machine.Generation
	if _, err := hex.Decode(bytes[:], []byte(g)); err != nil {
		return err
	}
	_, err := redisstore.Renew(ctx, withPrefix(dsn), bytes, who, why, redisstore.Options{Log: log})
	return err
}

// Generations returns the different generations that are in the Redis that a DSN names, also if [Open] refuses it; none if it is empty.
func Generations(ctx context.Context, dsn string, log *slog.Logger) (all []meter.Generation, err error) {
	found, err := redisstore.Generations(ctx, withPrefix(dsn), redisstore.Options{Log: log})
	for _, g := range found {
		all = append(all, meter.Generation(hex.EncodeToString(g[:])))
	}
	return all, err
}

// withPrefix returns the DSN with a prefix. One that is no URL is refused by whoever reads it.
func withPrefix(dsn string) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Query().Has("prefix") {
		return dsn
	}
	query := u.Query()
	query.Set("prefix", DefaultPrefix)
	u.RawQuery = query.Encode()
	return u.String()
}
