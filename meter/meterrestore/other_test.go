package meterrestore

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// A Redis of another installation is neither restored nor corrected: all that it has would count as extra.
func TestAnotherInstallation(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		sessions := p.sessions()
		if err := meterredis.Renew(t.Context(), p.server.DSN(1), "00112233445566778899aabbccddeeff", "test", "another installation", nil); err != nil {
			t.Fatal(err)
		}
		before := p.contents()
		runner := p.runner(sessions, "wrong")
		if _, _, err := runner.Start(t.Context(), restore.Request{Who: "test", Why: "a wrong DSN"}); !errors.Is(err, restore.ErrOtherSystem) {
			t.Errorf("restored: %v", err)
		}
		if _, err := runner.Check(t.Context(), restore.CheckRequest{Who: "test", Why: "a wrong DSN", Correct: true}); !errors.Is(err, store.ErrLost) {
			t.Errorf("corrected: %v", err)
		}
		if after := p.contents(); !maps.EqualFunc(before, after, meterredis.Content.Same) {
			t.Errorf("that has changed %s", difference(before, after))
		}
		if _, err := sessions.Last(t.Context(), name); !errors.Is(err, restore.ErrNone) {
			t.Errorf("a session was begun: %v", err)
		}
		plan := p.plan()
		plan.TakeOver = true
		done := p.restored(restore.New(sessions, plan, restore.Options{Name: "meant so"}))
		if done.State != restore.Finished {
			t.Errorf("taken over: %+v", done)
		}
	})
}

// A session that is under way is gone on with in its own Redis: another installation's is left alone, by every process, also one that is not
// what its installation has accepted, and one that came to where the DSN leads since it was asked. The session loses nothing.
func TestWorkOnAnotherInstallation(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 20)
		sessions := p.sessions()
		begun, _, err := p.runner(sessions, "begins").Start(ctx, restore.Request{Who: "test", Why: "a test"})
		if err != nil {
			t.Fatal(err)
		}
		if err := meterredis.Renew(ctx, p.server.DSN(1), "00112233445566778899aabbccddeeff", "test", "another installation", nil); err != nil {
			t.Fatal(err)
		}
		c := p.conn()
		theirs := func() string {
			return fmt.Sprintf("generation %x, gate %s", c.do("GET", "meter:{0000}:generation"), c.do("HGETALL", "policy:{0000}:8"))
		}
		before := theirs()
		refused := func(when string) {
			t.Helper()
			plan := p.plan()
			fence := restore.Fence{Session: begun.ID, Epoch: begun.Epoch, Generation: "ffeeddccbbaa99887766554433221100"}
			_, worked := p.runner(sessions, "works").Work(ctx)
			for what, err := range map[string]error{"work": worked, "ready": plan.Ready(ctx), "renew": plan.Renew(ctx, fence)} {
				if !errors.Is(err, restore.ErrOtherSystem) {
					t.Errorf("%s, %s: %v", when, what, err)
				}
			}
			if after := theirs(); after != before {
				t.Errorf("%s: it has %s, and had %s", when, after, before)
			}
			if now, err := sessions.Session(ctx, begun.ID); err != nil || now.State != begun.State || now.Epoch != begun.Epoch || now.Owner != "" {
				t.Errorf("%s: the session is %+v, %v", when, now, err)
			}
			if g, err := p.ledger.Generation(ctx); err != nil || string(g) == fence.Generation {
				t.Errorf("%s: SQL has generation %q, %v", when, g, err)
			}
		}
		refused("as it is")
		open := p.plan()
		if _, err := open.meter(ctx); err != nil {
			t.Fatal(err)
		}
		if err := open.CloseGate(ctx, restore.Fence{Session: begun.ID, Epoch: begun.Epoch}); !errors.Is(err, restore.ErrOtherSystem) || theirs() != before {
			t.Errorf("closed the gate: %v, and it has %s", err, theirs())
		}
		for b := range redisstore.Buckets {
			c.do("SET", fmt.Sprintf("meter:{%04d}:identities", b), "run:repl")
		}
		refused("on a server that it has not accepted")
	})
}

// What is left of an own Redis is own: of what was renewed half-way, or lost in part.
func TestPartOfTheOwnRedis(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		c := p.conn()
		for b := range 10 {
			c.do("DEL", fmt.Sprintf("meter:{%04d}:generation", b))
		}
		p.must(p.plan().Ready(t.Context()))
		if done := p.restored(p.runner(p.sessions(), "test")); done.State != restore.Finished {
			t.Errorf("%+v", done)
		}
	})
}

// SQL that is older than Redis, as after a backup was put back, has lower epochs than the fences that are there.
func TestEpochsBelowAnOldFence(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		sessions := p.sessions()
		plan := p.plan()
		m, err := plan.meter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.must(m.WriteFence(t.Context(), 1_000_000))
		if done := p.restored(restore.New(sessions, plan, restore.Options{Name: "test"})); done.State != restore.Finished {
			t.Errorf("%+v", done)
		}
	})
}

// While a restore is under way nobody else fills Redis or opens the gate.
func TestNoHydrationInARestore(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		plan := p.plan()
		p.must(plan.CloseGate(t.Context(), restore.Fence{Session: 1, Epoch: 1}))
		_, err := pipeline.Hydrate(t.Context(), pipeline.Hydration{Ledger: p.ledger, Redis: p.server.DSN(1), Horizon: plan.Horizon, Who: "test", Why: "in the middle", Renew: true})
		if !errors.Is(err, meterledger.ErrHeld) {
			t.Errorf("hydrated: %v", err)
		}
	})
}

// A right that Redis does not give does not come back by waiting.
func TestRightsThatAreMissing(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		admin := p.conn()
		admin.do("ACL", "SETUSER", "less", "on", ">hunter2", "~*", "&*", "+@all", "-evalsha", "-eval")
		plan := p.plan()
		_, at, _ := strings.Cut(p.server.DSN(1), "@")
		plan.Redis = "redis://less:hunter2@" + at
		defer plan.Close()
		err := plan.CloseGate(t.Context(), restore.Fence{Session: 1, Epoch: 1})
		if !errors.Is(err, restore.ErrRefused) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("closed the gate: %v", err)
		}
		// Nor does one that is taken away while units are written.
		plan.Redis = "redis://later:hunter2@" + at
		admin.do("ACL", "SETUSER", "later", "on", ">hunter2", "~*", "&*", "+@all")
		plan.forget()
		fence := restore.Fence{Session: 1, Epoch: 1, Generation: string(p.meter.Generation())}
		p.must(plan.WriteFence(t.Context(), fence))
		admin.do("ACL", "SETUSER", "later", "-evalsha", "-eval")
		if _, err := plan.Apply(t.Context(), 0, restore.Target{Units: 1}, fence); !errors.Is(err, restore.ErrRefused) {
			t.Errorf("applied: %v", err)
		}
	})
}

// restored restores, whatever is there.
func (p *plant) restored(r *restore.Runner) restore.Session {
	p.t.Helper()
	if _, _, err := r.Start(p.t.Context(), restore.Request{Who: "test", Why: "a test", Again: true}); err != nil {
		p.t.Fatal(err)
	}
	done, err := r.Work(p.t.Context())
	p.must(err)
	return done
}

// A key whose name is no text is found, and left to a person: what is kept of its name is not taken for another key.
func TestKeyThatIsNoText(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		r := p.runner(p.sessions(), "test")
		p.conn().do("SET", "unit:\x00\xff", strings.Repeat("x", 100_000))
		found, done := p.check(r, true)
		if found["unit:\x00\xff"] != restore.Extra || done.Findings[restore.Corrected] > 0 || len(found) != 1 {
			t.Errorf("%+v, %+v", found, done)
		}
	})
}
