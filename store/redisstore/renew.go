package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/machine"
)

// actRenew is what Renew does to a store.
const actRenew = "renew"

// Renew makes every record void: it gives all buckets a generation, which must never have been one before, and accepts the servers
// as they are. It is for who makes the data anew that the records are beside, from where it is kept as well, and goes on with what
// those say. Processes that have the store open are told that it is lost, and then learn the generation. Renewing with the same
// generation again completes what stopped half-way.
func Renew(ctx context.Context, dsn string, g machine.Generation, who, why string, options Options) (Act, error) {
	if strings.TrimSpace(who) == "" || strings.TrimSpace(why) == "" || g == (machine.Generation{}) {
		return Act{}, errors.New("renewing a store needs a generation, who does it and why: it is kept")
	}
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return Act{}, err
	}
	defer s.client.Close()
	if err := s.checkServers(ctx); err != nil {
		return Act{}, err
	}
	act := Act{What: actRenew, Who: who, Why: why}
	return act, s.perform(ctx, &act, g)
}

// Generations returns the different generations that buckets have, whoever the servers are: none where there is no store, or where it
// has lost everything. It is for who has to know whose data it is before it is made void, also that of a store that [Open] refuses.
func Generations(ctx context.Context, dsn string, options Options) (all []machine.Generation, err error) {
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return nil, err
	}
	defer s.client.Close()
	if _, err := s.readGenerations(ctx); err != nil {
		return nil, err
	}
	for b := range Buckets {
		if g := s.generation(b); g != (machine.Generation{}) && !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all, nil
}
