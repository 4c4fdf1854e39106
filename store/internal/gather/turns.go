package gather

import (
	"context"
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// Turns lets the callers of this process step on a key one after the other. However many wait for a key
// that is held, one of them asks the server.
type Turns struct {
	mu   sync.Mutex
	keys map[machine.Digest]*turn
}

type turn struct {
	token   chan struct{} // in it while nobody has the turn
	callers int
}

// Take waits for the turn on a key. The caller calls leave.
func (t *Turns) Take(ctx context.Context, digest machine.Digest) (leave func(), err error) {
	t.mu.Lock()
	k := t.keys[digest]
	if k == nil {
		k = &turn{token: make(chan struct{}, 1)}
		k.token <- struct{}{}
		if t.keys == nil {
			t.keys = map[machine.Digest]*turn{}
		}
		t.keys[digest] = k
	}
	k.callers++
	t.mu.Unlock()
	select {
	case <-k.token:
		return func() { k.token <- struct{}{}; t.leave(digest, k) }, nil
	case <-ctx.Done():
		t.leave(digest, k)
		return nil, context.Cause(ctx)
	}
}

func (t *Turns) leave(digest machine.Digest, k *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.callers--; k.callers == 0 {
		delete(t.keys, digest)
	}
}

// Taken reports whether somebody has the turn on a key, or waits for it.
func (t *Turns) Taken(digest machine.Digest) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keys[digest] != nil
}
