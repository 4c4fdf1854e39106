package meterrestore

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// A drill finds nothing on what fits together, and leaves the keys that live as they are, to the byte and the millisecond of their expiry,
// and no others.
func TestDrill(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 60)
	stop := p.work()
	p.send(p.events(200))
	if _, err := p.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
		t.Fatal(err)
	}
	p.send(p.events(200))
	stop()
	before := p.keys()
	drilled, err := p.plan().Drill(t.Context())
	if err != nil || len(drilled.Findings) > 0 || drilled.Units != 45 || drilled.Keys == 0 {
		t.Errorf("%+v, %v", drilled, err)
	}
	if after := p.keys(); !slices.Equal(before, after) {
		t.Errorf("%d keys became %d", len(before), len(after))
	}
	p.audit()
}

// What a drill has left that was killed is removed before the next one, and before a restore writes; what another one uses, and what is
// nobody's, is left.
func TestWhatKilledDrillsLeave(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 12)
	c := p.conn()
	shadow := func() *meterredis.Shadow {
		s, err := meterredis.OpenShadow(t.Context(), p.server.DSN(1), meterredis.Options{Horizon: p.horizon}, "test", nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	shadows := func() int { return len(c.do("KEYS", "shadow:*").([]any)) }
	over := func(s *meterredis.Shadow, pattern string) { // as a minute after its process was killed
		t.Helper()
		p.must(s.Close())
		leases := c.do("KEYS", pattern).([]any)
		if len(leases) != 1 {
			t.Fatalf("the leases are %v", leases)
		}
		c.do("DEL", leases[0].(string))
	}
	c.do("SET", "shadow:mine", "x")
	killed := shadow()
	over(killed, "shadow:*:lease")
	if err := killed.Held(t.Context()); err == nil {
		t.Error("a closed one is held")
	}
	before := shadows()
	running := shadow()
	one := shadows() - before
	if _, err := p.plan().Drill(t.Context()); err != nil {
		t.Error(err)
	}
	if n := shadows(); n != one+1 || one < meterredis.Shards {
		t.Errorf("of %d keys of a drill that runs, and one of somebody else, %d stay", one, n)
	}
	over(running, "shadow:*:lease")
	last := shadow()
	if done := p.restored(p.runner(p.sessions(), "test")); done.State != restore.Finished {
		t.Errorf("%+v", done)
	}
	if n := shadows(); n != one+1 {
		t.Errorf("after a restore %d keys stay of %d", n, one+1)
	}
	// Whoever was held up for so long that his may have been removed, is told.
	p.must(last.Held(t.Context()))
	c.do("DEL", c.do("KEYS", "shadow:*:lease").([]any)[0].(string))
	if err := last.Keep(t.Context()); !errors.Is(err, meterredis.ErrShadowLost) {
		t.Errorf("kept: %v", err)
	}
	if n, err := last.Remove(t.Context()); n != one-1 || err != nil || shadows() != 1 {
		t.Errorf("removed %d of %d, %v; %d stay", n, one-1, err, shadows())
	}
	p.must(last.Close())
}

// keys are all of the server's, each with its contents and when it expires.
func (p *plant) keys() (all []string) {
	p.t.Helper()
	conn, err := p.server.Dial(p.server.AdminDSN(1))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	names, err := conn.Do("KEYS", "*")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range names.([]any) {
		dump, err := conn.Do("DUMP", name.(string))
		if err != nil {
			p.t.Fatal(err)
		}
		expires, err := conn.Do("PEXPIRETIME", name.(string)) // DUMP leaves it out
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s until %d: %s", name, expires, dump))
	}
	slices.Sort(all)
	return all
}
