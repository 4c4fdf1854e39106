package meterrestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/restore"
)

// runner is a process that restores.
func (p *plant) runner(sessions *restore.Sessions, name string) *restore.Runner {
	return restore.New(sessions, p.plan(), restore.Options{Name: name, Lease: 3 * time.Second, Poll: 60 * time.Millisecond})
}

// A Redis is emptied under load and restored by processes that are killed at any moment, and it is emptied again in the middle. In
// the end everything fits together, and every event counts once.
func TestRestoreUnderTrouble(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		ctx, db := t.Context(), dsn
		p := newPlant(t, db, 200)
		if _, err := restore.Migrate(ctx, db); err != nil {
			t.Fatal(err)
		}
		sessions, err := restore.Open(ctx, db, 8)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.must(sessions.Close()) })
		stop := p.work()
		defer stop()
		before := p.events(400)
		p.send(before[:200])
		if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); err != nil {
			t.Fatal(err)
		}
		p.send(before[200:])
		p.server.FlushAll()

		request := restore.Request{Who: "test", Why: "Redis was emptied"}
		if _, resumed, err := p.runner(sessions, "first").Start(ctx, request); err != nil || resumed {
			t.Fatalf("started: resumed %v, %v", resumed, err)
		}
		for n := range 6 {
			p.killed(sessions, fmt.Sprintf("killed %d", n))
			if n == 3 {
				p.server.FlushAll()
			}
		}
		done, err := p.runner(sessions, "last").Work(ctx)
		if err != nil || done.State != restore.Finished {
			t.Fatalf("%+v, %v", done, err)
		}
		if _, _, err := p.runner(sessions, "late").Start(ctx, request); !errors.Is(err, restore.ErrComplete) {
			t.Errorf("started again: %v", err)
		}
		p.send(append(before, p.events(200)...))
		p.audit()
	})
}

// killed lets two processes work for a moment.
func (p *plant) killed(sessions *restore.Sessions, name string) {
	ctx, kill := context.WithTimeout(p.t.Context(), 50*time.Millisecond+rand.N(700*time.Millisecond))
	defer kill()
	var group sync.WaitGroup
	for _, who := range []string{name + " a", name + " b"} {
		group.Go(func() {
			if _, err := p.runner(sessions, who).Work(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, restore.ErrOver) {
				p.t.Errorf("%s: %v", who, err)
			}
		})
	}
	group.Wait()
}
