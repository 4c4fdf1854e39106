package gather

import (
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// recentLimit is how many keys are remembered at least, before the oldest are forgotten.
const recentLimit = 8192

// Recent remembers something of the keys that it was last told of. The zero value remembers nothing yet.
type Recent[V any] struct {
	mu     sync.Mutex
	recent map[machine.Digest]V
	older  map[machine.Digest]V // as recent was when it became full
}

// Put remembers something of a key.
func (r *Recent[V]) Put(digest machine.Digest, value V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recent == nil || len(r.recent) >= recentLimit {
		r.recent, r.older = make(map[machine.Digest]V), r.recent
	}
	r.recent[digest] = value
}

// Get returns what is remembered, or the zero value.
func (r *Recent[V]) Get(digest machine.Digest) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	if value, ok := r.recent[digest]; ok {
		return value
	}
	return r.older[digest]
}

// Drop forgets what is remembered.
func (r *Recent[V]) Drop(digest machine.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.recent, digest)
	delete(r.older, digest)
}

// Memory is what a process knows of executions that it has begun. It saves a completion the way to the
// record and is never trusted: the server compares.
type Memory = Recent[*Remembered]

// Remembered is a record and the packed form that stands in its row.
type Remembered struct {
	Record *machine.Record
	Packed []byte
}
