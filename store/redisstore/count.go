package redisstore

import (
	"bytes"
	"context"
	"slices"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// countKeys is how many keys are looked at to count the records.
const countKeys = 10_000

// Count implements [store.Counter]. Up to 10,000 keys, of whomever, are looked at one by one. Beyond that the numbers
// are estimated from some 10,000 of them, which is fair: a server keeps its keys in an order that has nothing to do
// with their names. Abandoned ones are then counted by their index, so that a single unknown outcome among
// millions of answers is seen; an interrupted execution is once it was found. Records of another generation are
// not counted, nor finished ones that are to go by themselves.
func (s *Store) Count(ctx context.Context) (store.Counts, error) { return s.count(ctx, countKeys) }

func (s *Store) count(ctx context.Context, limit int) (counts store.Counts, err error) {
	ctx, leave, err := s.enterForLong(ctx)
	if err != nil {
		return counts, err
	}
	defer leave()
	counts, err = s.countAll(ctx, limit)
	return counts, s.dialer.crowd.blame(err)
}

func (s *Store) countAll(ctx context.Context, limit int) (counts store.Counts, err error) {
	sc, err := s.newScan(ctx)
	if err != nil {
		return counts, err
	}
	if counts.At, err = s.now(ctx); err != nil {
		return counts, err
	}
	counts.States = map[machine.State]int64{}
	for _, n := range sc.nodes {
		if err := s.countOn(ctx, n, limit/len(sc.nodes), &counts); err != nil {
			return counts, err
		}
	}
	if counts.Sampled {
		counts.States[machine.Abandoned], err = s.countIndexed(ctx)
	}
	return counts, err
}

// countOn adds what is on one server.
func (s *Store) countOn(ctx context.Context, n node, limit int, counts *store.Counts) error {
	records, share, err := s.sample(ctx, n, limit)
	if err != nil {
		return err
	}
	counts.Sampled = counts.Sampled || share < 1
	glances, err := s.glance(ctx, records, storedAs(nil)...)
	if err != nil {
		return err
	}
	states := map[machine.State]int64{}
	for i := range glances {
		r := glances[i].record
		if state, _ := r.Judge(counts.At); state != machine.Absent || r != nil && r.State == machine.Claimed {
			states[state]++
		}
	}
	for state, n := range states {
		if n = int64(float64(n) / share); state == machine.Absent {
			counts.Due += n
		} else {
			counts.States[state] += n
		}
	}
	return nil
}

// sample returns the records among at least limit of a server's keys, and what share of all keys these are.
func (s *Store) sample(ctx context.Context, n node, limit int) (records []machine.Digest, share float64, err error) {
	var found sighted
	keys := 0
	for cursor := uint64(0); keys < limit; {
		entry, err := n.client.Do(ctx, n.client.B().Scan().Cursor(cursor).Count(scanStep).Build()).AsScanEntry()
		if err != nil {
			return nil, 0, unread(ctx, err)
		}
		keys += len(entry.Elements)
		for _, key := range entry.Elements {
			s.sight(&found, key)
		}
		if cursor = entry.Cursor; cursor == 0 {
			return unique(found.records), 1, nil
		}
	}
	size, err := n.client.Do(ctx, n.client.B().Dbsize().Build()).AsInt64()
	return unique(found.records), float64(keys) / float64(max(size, int64(keys)+1)), unread(ctx, err)
}

// unique returns digests without repetition, in their order.
func unique(digests []machine.Digest) []machine.Digest {
	slices.SortFunc(digests, func(a, b machine.Digest) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(digests)
}
