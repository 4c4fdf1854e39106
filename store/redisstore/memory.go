package redisstore

import (
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// memory holds unfinished records that this process has claimed, so that it can finish them in one round trip.
// It may be wrong: a script compares what it says with what is there.
type memory struct{ shards *[64]memoryShard }

type memoryShard struct {
	mu      sync.Mutex
	records map[machine.Digest]heldRecord
}

type heldRecord struct {
	record *machine.Record
	birth  machine.Instant
	packed []byte // as it was written
}

// shardLimit bounds the records of a shard. A record is about half a kilobyte.
const shardLimit = 1024

func newMemory() memory {
	m := memory{shards: new([64]memoryShard)}
	for i := range m.shards {
		m.shards[i].records = map[machine.Digest]heldRecord{}
	}
	return m
}

func (m memory) shard(d machine.Digest) *memoryShard { return &m.shards[d[31]%64] }

func (m memory) put(r *machine.Record, birth machine.Instant, packed []byte) {
	s := m.shard(r.Scope.Digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	for old := range s.records {
		if len(s.records) < shardLimit {
			break
		}
		delete(s.records, old)
	}
	s.records[r.Scope.Digest] = heldRecord{r, birth, packed}
}

func (m memory) get(digest machine.Digest) (heldRecord, bool) {
	s := m.shard(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	held, ok := s.records[digest]
	return held, ok
}

func (m memory) drop(digest machine.Digest) {
	s := m.shard(digest)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, digest)
}
