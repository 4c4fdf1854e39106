package movestore

import (
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// gone are keys of which the previous store has nothing, and never will. It need not be asked for them again. What is not
// remembered is asked again, which costs time and nothing else.
type gone struct {
	mu            sync.RWMutex
	recent, older map[machine.Digest]struct{}
}

// goneLimit is how many keys are remembered at least, once there have been that many; twice as many at most.
const goneLimit = 1 << 16

func (g *gone) has(digest machine.Digest) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if _, ok := g.recent[digest]; ok {
		return true
	}
	_, ok := g.older[digest]
	return ok
}

func (g *gone) add(digest machine.Digest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.recent == nil || len(g.recent) >= goneLimit {
		g.older, g.recent = g.recent, map[machine.Digest]struct{}{}
	}
	g.recent[digest] = struct{}{}
}
