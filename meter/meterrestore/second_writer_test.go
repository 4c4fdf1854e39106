package meterrestore

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/restore"
)

// beside is a plan beside which somebody else writes, once, when the first units are complete.
type beside struct {
	*Plan
	once  sync.Once
	write func()
}

func (b *beside) Apply(ctx context.Context, phase int, target restore.Target, fence restore.Fence) (restore.Done, error) {
	done, err := b.Plan.Apply(ctx, phase, target, fence)
	if err == nil && phase == len(phases())-1 {
		b.once.Do(b.write)
	}
	return done, err
}

// A second writer that changes, removes and adds keys while a session restores is found out: each key is put right before the gate opens, and is
// among the session's findings.
func TestSecondWriterInARestore(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		p.server.FlushAll()
		c, sessions := p.conn(), p.sessions()
		written := map[string]restore.Outcome{}
		first := func(pattern string) string {
			key := c.do("KEYS", pattern).([]any)[0].(string)
			written[key] = restore.Corrected
			return key
		}
		plan := &beside{Plan: p.plan(), write: func() {
			c.do("HSET", first("remaining_indiv_amount:*:line-1:*"), "amount", "999999")
			c.do("HDEL", first("remaining_indiv_amount:*:line-3:*"), "qos")
			c.do("DEL", first("remaining_shared_amount:*"))
			c.do("PEXPIRE", first("version:*:l:line-5"), "5000000")
			c.do("SET", "daily_total_usage:{0000}:nobody:20200101", "5")
			written[first("daily_total_usage:{0000}:nobody:*")] = restore.Corrected
		}}
		done := p.restored(restore.New(sessions, plan, restore.Options{Name: "test"}))
		if done.State != restore.Finished || len(written) != 5 {
			t.Fatalf("%+v; written %v", done, written)
		}
		found, err := sessions.Findings(t.Context(), done.ID, 0, 100)
		p.must(err)
		outcomes := map[string]restore.Outcome{}
		for _, f := range found {
			outcomes[f.Item] = f.Outcome
		}
		if !maps.Equal(outcomes, written) {
			t.Errorf("found %v, and written was %v", outcomes, written)
		}
		if _, err := p.meter.Reread(t.Context()); err != nil {
			t.Error(err)
		}
		if g := p.meter.Generation(); g != meter.Generation(done.Generation) {
			t.Errorf("the generation is %q, and the session's %q", g, done.Generation)
		}
		p.audit()
	})
}
