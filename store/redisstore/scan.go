package redisstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// scanStep is how many places of its table a server looks at in one step of a scan.
const scanStep = 1000

// scan goes through all keys of records, server by server, each in its own order. A record that is there from its
// beginning to its end is met, unless its slot moves to another server meanwhile; it can be met twice
// where a server's table shrinks. Once a server was restarted or has failed over, a scan of it cannot go
// on.
type scan struct {
	store  *Store
	nodes  []node
	at     int              // which node
	cursor uint64           // of the node
	passed []machine.Digest // what is not to be met again at this place
}

// newScan begins a scan. While a bucket has lost its data there is none.
func (s *Store) newScan(ctx context.Context) (scan, error) {
	if err := s.intact(ctx); err != nil {
		return scan{}, err
	}
	nodes, err := s.primaries(ctx)
	return scan{store: s, nodes: nodes}, err
}

// intact checks that every bucket has the generation that this process knows. The client of a cluster has
// found all primaries then.
func (s *Store) intact(ctx context.Context) error {
	ask := make(rueidis.Commands, Buckets)
	for b := range ask {
		ask[b] = s.client.B().Get().Key(s.names.generation(b)).Build()
	}
	for b, result := range s.client.DoMulti(ctx, ask...) {
		value, err := result.AsBytes()
		if err != nil && !rueidis.IsRedisNil(err) {
			return unread(ctx, err)
		}
		known := s.generation(b)
		if !bytes.Equal(value, known[:]) {
			s.relearn(ctx, b)
			return lostBucket(b)
		}
	}
	return nil
}

// done reports whether all was looked at.
func (sc *scan) done() bool { return sc.at == len(sc.nodes) }

// restart goes back to the beginning.
func (sc *scan) restart() { sc.at, sc.cursor, sc.passed = 0, 0, nil }

// peek returns the records at the scan's place, each once, and the cursor after them. The scan stays where
// it is.
func (sc *scan) peek(ctx context.Context, places int) ([]machine.Digest, uint64, error) {
	here, next, err := sc.look(ctx, places)
	return here.records, next, err
}

// look is peek with the void records.
func (sc *scan) look(ctx context.Context, places int) (here sighted, next uint64, err error) {
	client := sc.nodes[sc.at].client
	entry, err := client.Do(ctx, client.B().Scan().Cursor(sc.cursor).Match(sc.store.names.records()).
		Count(int64(places)).Type("string").Build()).AsScanEntry()
	if err != nil {
		return here, 0, unread(ctx, err)
	}
	for _, key := range entry.Elements {
		sc.store.sight(&here, key)
	}
	here.records = slices.DeleteFunc(here.records, func(d machine.Digest) bool { return slices.Contains(sc.passed, d) })
	here.records = unique(here.records)
	return here, entry.Cursor, nil
}

// sighted are records by their keys.
type sighted struct {
	records []machine.Digest // of the generation of their bucket
	void    []target         // of another one
}

// sight adds the record of a key, if it is that of one.
func (s *Store) sight(here *sighted, key string) {
	digest, _, ok := s.names.recordOf(key)
	if !ok {
		return
	}
	t := newTarget(s, digest)
	if t.keys[0] == key {
		here.records = append(here.records, digest)
	} else {
		t.keys[0] = key
		here.void = append(here.void, t)
	}
}

// advance goes to a cursor, or to the next server after the last one.
func (sc *scan) advance(cursor uint64) {
	sc.passed = nil
	if sc.cursor = cursor; cursor == 0 {
		sc.at++
	}
}

// servers is a digest of who they are.
func (sc *scan) servers() string {
	sum := sha256.New()
	for _, n := range sc.nodes {
		sum.Write([]byte(n.RunID + "\n"))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// unchanged returns an error if the servers are others by now than those that were scanned.
func (sc *scan) unchanged(ctx context.Context) error {
	again, err := sc.store.newScan(ctx)
	if err == nil && again.servers() != sc.servers() {
		err = store.Unavailable(errors.New("a server was replaced while its keys were scanned"))
	}
	return err
}

// String is the place of a scan as a cursor of a listing.
func (sc *scan) String() string {
	parts := []string{"scan", sc.servers(), strconv.Itoa(sc.at), strconv.FormatUint(sc.cursor, 10)}
	for _, digest := range sc.passed {
		parts = append(parts, digest.String())
	}
	return strings.Join(parts, "-")
}

// resume goes to the place that a cursor names.
func (sc *scan) resume(cursor string) (err error) {
	parts := strings.Split(cursor, "-")
	if len(parts) < 4 || parts[0] != "scan" {
		return store.BadCursor(cursor)
	}
	if parts[1] != sc.servers() {
		return fmt.Errorf("a server was restarted or replaced since: %w", store.BadCursor(cursor))
	}
	if sc.at, err = strconv.Atoi(parts[2]); err == nil {
		sc.cursor, err = strconv.ParseUint(parts[3], 10, 64)
	}
	for i := 4; i < len(parts) && err == nil; i++ {
		var digest machine.Digest
		digest, err = machine.ParseDigest(parts[i])
		sc.passed = append(sc.passed, digest)
	}
	if err != nil || sc.at < 0 || sc.at >= len(sc.nodes) {
		return store.BadCursor(cursor)
	}
	return nil
}

// atOnce is how many commands of one listing, count or purge are under way at a time.
const atOnce = 64

// each does a work n times, many at once. The first failure ends it.
func each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error { return work(ctx, i) })
	}
	return group.Wait()
}
