package gather

import (
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// memoryLimit is how many executions are remembered at least, before the oldest are forgotten.
const memoryLimit = 8192

// Memory is what a process knows of executions that it has begun. It saves a completion the way to the
// record and is never trusted: the server compares.
type Memory struct {
	mu     sync.Mutex
	recent map[machine.Digest]*Remembered
	older  map[machine.Digest]*Remembered // as recent was when it became full
}

// Remembered is a record and the packed form that stands in its row.
type Remembered struct {
	Record *machine.Record
	Packed []byte
}

// Put remembers a record.
func (m *Memory) Put(digest machine.Digest, record *machine.Record, packed []byte) {
	known := &Remembered{Record: record, Packed: packed}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.recent == nil || len(m.recent) >= memoryLimit {
		m.recent, m.older = make(map[machine.Digest]*Remembered), m.recent
	}
	m.recent[digest] = known
}

// Get returns what is remembered, or nil.
func (m *Memory) Get(digest machine.Digest) *Remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known := m.recent[digest]; known != nil {
		return known
	}
	return m.older[digest]
}

// Drop forgets what is remembered.
func (m *Memory) Drop(digest machine.Digest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.recent, digest)
	delete(m.older, digest)
}
