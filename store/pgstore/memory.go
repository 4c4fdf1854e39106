package pgstore

import (
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// memoryLimit is how many executions are remembered at least, before the oldest are forgotten.
const memoryLimit = 8192

// memory is what a process knows of executions that it has begun. It saves a completion the way to the
// record and is never trusted: the server compares.
type memory struct {
	mu     sync.Mutex
	recent map[machine.Digest]*remembered
	older  map[machine.Digest]*remembered // as recent was when it became full
}

// remembered is a record and the packed form that stands in its row.
type remembered struct {
	record *machine.Record
	packed []byte
}

func (m *memory) put(digest machine.Digest, record *machine.Record, packed []byte) {
	known := &remembered{record: record, packed: packed}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.recent == nil || len(m.recent) >= memoryLimit {
		m.recent, m.older = make(map[machine.Digest]*remembered), m.recent
	}
	m.recent[digest] = known
}

// get returns what is remembered, or nil.
func (m *memory) get(digest machine.Digest) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.recent[digest]; known != nil {
		return known
	}
	return m.older[digest]
}

func (m *memory) drop(digest machine.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.recent, digest)
	delete(m.older, digest)
}
