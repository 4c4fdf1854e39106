package redisstore

import (
	"context"
	"sync"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// The index of a bucket holds the digests of its abandoned records, so that whoever looks for them need not
// look at every record. It is a sorted set whose scores are equal, which is in the order of the digests.
//
// What is written as abandoned is added by the script that writes it, and removed by the one that settles it.
// An execution that was interrupted is not written as such: it is added by a claim that meets it, or by
// the sweep. So an entry may not fit its record any more, when the execution went on after all or its
// bucket has another generation: then it is removed by the listing that meets it.

// What a script does to an index. Empty is nothing.
const (
	addToIndex      = "ZADD"
	removeFromIndex = "ZREM"
)

// indexing returns what a change of a record does to the index.
func indexing(before found, next *machine.Record) string {
	state, _ := before.record.Judge(before.now)
	switch {
	case next != nil && next.State == machine.Abandoned:
		return addToIndex
	case state == machine.Abandoned:
		return removeFromIndex
	}
	return ""
}

// index changes the entry of a record that stays as it was found, and reports whether it did.
func (s *Store) index(ctx context.Context, t target, f found, change string) (bool, error) {
	keys := append(t.keys[:len(t.keys):len(t.keys)], s.names.abandoned(t.bucket))
	n, err := s.scripts.index.Exec(ctx, s.client, keys, []string{
		string(t.generation[:]), rueidis.BinaryString(identifyingPart(f.packed)), change,
	}).AsInt64()
	switch {
	case err != nil:
		return false, sent(ctx, err)
	case n == replyLost:
		return false, lostBucket(t.bucket)
	}
	return n == 1, nil
}

// met adds an interrupted execution that a claim was refused for to the index. What fails is left to the sweep.
func (s *Store) met(ctx context.Context, t target, f found, reply machine.Reply) {
	if reply.Outcome != machine.RecoveryRequired || f.record.State != machine.Executing || !s.meetings.add(f.record) {
		return
	}
	if _, err := s.index(ctx, t, f, addToIndex); err != nil {
		s.meetings.remove(f.record)
	}
}

// meetings are interrupted executions that this process has added to the index: those who ask for them again do
// not add them again.
type meetings struct {
	mu        sync.Mutex
	revisions map[machine.Digest]uint64
}

// meetingsLimit bounds them. They are forgotten together.
const meetingsLimit = 4096

// add reports whether the record is not among them.
func (m *meetings) add(r *machine.Record) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.revisions[r.Scope.Digest] == r.Revision {
		return false
	}
	if m.revisions == nil || len(m.revisions) >= meetingsLimit {
		m.revisions = map[machine.Digest]uint64{}
	}
	m.revisions[r.Scope.Digest] = r.Revision
	return true
}

func (m *meetings) remove(r *machine.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.revisions, r.Scope.Digest)
}

// indexChunk is the number of indexes that are asked at once.
const indexChunk = 128

// indexed returns the next entries of all indexes after a digest, in the order of their digests. Fewer than
// limit are the last ones.
func (s *Store) indexed(ctx context.Context, after machine.Digest, limit int) ([]machine.Digest, error) {
	var digests []machine.Digest
	for from := bucketOf(after); from < Buckets; from += indexChunk {
		var ask rueidis.Commands
		for b := from; b < min(Buckets, from+indexChunk); b++ {
			ask = append(ask, s.client.B().Zrangebylex().Key(s.names.abandoned(b)).
				Min("("+string(after[:])).Max("+").Limit(0, int64(limit)).Build())
		}
		for _, result := range s.client.DoMulti(ctx, ask...) {
			entries, err := result.AsStrSlice()
			if err != nil {
				return nil, unread(ctx, err)
			}
			for _, entry := range entries {
				if d := []byte(entry); len(d) == len(machine.Digest{}) {
					digests = append(digests, machine.Digest(d))
				}
			}
		}
		if len(digests) >= limit {
			return digests[:limit], nil
		}
	}
	return digests, nil
}

// countIndexed is how many entries the indexes have.
func (s *Store) countIndexed(ctx context.Context) (total int64, err error) {
	ask := make(rueidis.Commands, Buckets)
	for b := range ask {
		ask[b] = s.client.B().Zcard().Key(s.names.abandoned(b)).Build()
	}
	for _, result := range s.client.DoMulti(ctx, ask...) {
		n, err := result.AsInt64()
		if err != nil {
			return 0, unread(ctx, err)
		}
		total += n
	}
	return total, nil
}
