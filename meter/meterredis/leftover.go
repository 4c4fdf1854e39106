package meterredis

import (
	"context"
	"log/slog"
	"regexp"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store/redisstore"
)

// SweepShadows removes what is left of shadows whose drill is over, and returns how many keys that were: a drill that was killed removes nothing, and what it
// has written takes as much of Redis' memory as what lives. It goes through the names of all keys, some at a time, and can be ended at any time:
// the next one finds the rest.
func SweepShadows(ctx context.Context, dsn string, log *slog.Logger) (removed int, err error) {
	servers, err := redisstore.Connect(withPrefix(dsn), redisstore.Options{Log: log})
	if err != nil {
		return 0, err
	}
	defer servers.Close()
	nodes, err := servers.Primaries(ctx)
	if err != nil {
		return 0, err
	}
	s := sweep{client: servers.Client(), over: map[string]bool{}, form: regexp.MustCompile(`^` + shadowPrefix + `[A-Z2-7]{26}:`)}
	err = eachPage(ctx, nodes, shadowPrefix+"*", func(keys []string) error {
		if err := s.meet(ctx, keys); err != nil {
			return err
		}
		n, err := unlink(ctx, s.client, keys, func(key string) bool { return s.over[s.form.FindString(key)] })
		removed += n
		return err
	})
	return removed, err
}

// sweep is one under way.
type sweep struct {
	client rueidis.Client
	form   *regexp.Regexp  // how the names of a shadow begin
	over   map[string]bool // by the prefix of a shadow: no other one will have it
}

// meet asks of shadows that were not met before whether they are over. What has another name than a shadow's is nobody's to remove.
func (s *sweep) meet(ctx context.Context, keys []string) error {
	for _, key := range keys {
		prefix := s.form.FindString(key)
		if _, met := s.over[prefix]; met || prefix == "" {
			continue
		}
		leases, err := s.client.Do(ctx, s.client.B().Exists().Key(leaseOf(prefix)).Build()).AsInt64()
		if err != nil {
			return failed("ask whether a shadow is in use", err)
		}
		s.over[prefix] = leases == 0
	}
	return nil
}
