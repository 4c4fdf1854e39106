package meterrestore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
)

// plant is a meter with its databases, hydrated and open.
type plant struct {
	t       *testing.T
	dsn     string // of the ledger
	server  *servicetest.RedisServer
	ledger  *meterledger.Ledger
	horizon meter.Horizon
	lines   int
	meter   *meterredis.Meter
	intake  *pipeline.Intake
	worker  pipeline.WorkerOptions
}

func newPlant(t *testing.T, dsn string, lines int) *plant {
	t.Helper()
	p := &plant{
		t: t, dsn: dsn, server: servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing}), lines: lines,
		horizon: meter.Horizon{Retention: 48 * time.Hour, Tolerance: time.Minute, Ahead: meter.OpenAhead},
	}
	var err error
	if p.ledger, err = meterledger.Open(t.Context(), dsn, meterledger.Options{Migrate: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.must(p.ledger.Close()) })
	var all []meterledger.Line
	var families []meterledger.Family
	for i := range lines {
		line := meterledger.Line{ID: fmt.Sprintf("line-%d", i), Individual: 20_000, QoS: 5000}
		if i%2 == 0 {
			line.Family = fmt.Sprintf("family-%d", i/4)
			if i%4 == 0 {
				families = append(families, meterledger.Family{ID: line.Family, Shared: 30_000})
			}
		}
		all = append(all, line)
	}
	p.must(p.ledger.Import(t.Context(), families, all, []string{"video", "chat"}))
	directory := pipeline.NewDirectory(p.ledger, time.Minute)
	if _, err := p.keeper().OpenMonths(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Hydrate(t.Context(), pipeline.Hydration{Ledger: p.ledger, Redis: p.server.DSN(1), Horizon: p.horizon, Who: "test", Why: "it begins"}); err != nil {
		t.Fatal(err)
	}
	if p.meter, err = meterredis.Open(t.Context(), p.server.DSN(1), meterredis.Options{Horizon: p.horizon}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.must(p.meter.Close()) })
	streams, err := p.meter.OpenStreams(t.Context(), 100_000)
	if err != nil {
		t.Fatal(err)
	}
	p.intake = &pipeline.Intake{Meter: p.meter, Streams: streams, Ledger: p.ledger, Directory: directory, Horizon: p.horizon}
	p.worker = pipeline.WorkerOptions{Meter: p.meter, Streams: streams, Ledger: p.ledger, Directory: directory, Idle: time.Second}
	return p
}

func (p *plant) keeper() *pipeline.Keeper {
	return &pipeline.Keeper{Ledger: p.ledger, Directory: pipeline.NewDirectory(p.ledger, time.Minute), Horizon: p.horizon}
}

func (p *plant) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Error(err)
	}
}

func (p *plant) work() (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	var group sync.WaitGroup
	group.Go(func() { pipeline.NewWorker(p.worker).Run(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

func (p *plant) plan() *Plan {
	plan := New(Options{Ledger: p.ledger, Redis: p.server.DSN(1), Horizon: p.horizon, Who: "test", Why: "a test", Longest: time.Millisecond})
	p.t.Cleanup(plan.Close)
	return plan
}

func (p *plant) events(n int) (all []meter.Event) {
	for range n {
		all = append(all, meter.Event{
			ID: fmt.Sprintf("event-%d", rand.Uint64()), Line: fmt.Sprintf("line-%d", rand.IntN(p.lines)), App: []string{"video", "chat"}[n%2],
			Bytes: 1 + rand.Int64N(500), At: time.Now().Add(-time.Duration(rand.IntN(86_400)) * time.Second).Truncate(time.Microsecond),
		})
	}
	return all
}

// send sends events until they are taken in, and waits for their rows.
func (p *plant) send(events []meter.Event) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	ids := make([]meterledger.Identity, len(events))
	for i, e := range events {
		ids[i] = meterledger.Identity{Line: e.Line, Event: e.ID}
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if receipts, err := p.intake.Accept(ctx, time.Now(), events); err == nil && receipts[0].Err == nil {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			p.t.Fatal("the events are not taken in")
		}
	}
	for {
		found, err := p.ledger.LookupDone(ctx, ids)
		if err == nil && len(found) == len(ids) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			p.t.Fatalf("%d of %d events have a row, %v", len(found), len(ids), err)
		}
	}
}

// audit wants everything to fit together.
func (p *plant) audit() {
	p.t.Helper()
	i := &inspect.Inspector{Meter: p.meter, Ledger: p.ledger, Horizon: p.horizon}
	report, err := i.Audit(p.t.Context(), time.Now(), 10*time.Second)
	if err != nil || !report.Clean() {
		p.t.Errorf("%+v, %v", report, err)
	}
}

// otherPolicies leaves the gate of another installation in every bucket: closed, and of a higher version.
func (p *plant) otherPolicies() {
	p.t.Helper()
	conn, err := p.server.Dial(p.server.AdminDSN(1))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	for b := range 1024 {
		if _, err := conn.Do("HSET", fmt.Sprintf("policy:{%04d}:8", b), "open", "no", "version", "1000"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// each does a phase, or verifies, for all targets.
func each(t *testing.T, plan *Plan, phase int, do func(restore.Target) error) {
	t.Helper()
	for after, last := "", false; !last; {
		var targets []restore.Target
		var err error
		if targets, last, err = plan.Targets(t.Context(), phase, after, 1); err != nil {
			t.Fatal(err)
		}
		for _, target := range targets {
			if err := do(target); err != nil {
				t.Errorf("phase %d, %+v: %v", phase, target, err)
			}
			after = target.To
		}
	}
}

// eachLedger runs a test on both kinds of SQL servers; in an ordinary run on one, so that all tests together know both.
func eachLedger(t *testing.T, usual string, test func(t *testing.T, dsn string)) {
	for name, dsn := range map[string]func() string{
		"postgres": func() string { return servicetest.Postgres(t).Database(t) },
		"mariadb":  func() string { return servicetest.MariaDB(t).Database(t) },
	} {
		if name == usual || proving() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, dsn())
			})
		}
	}
}

// proving reports whether tests are to be long.
func proving() bool { return os.Getenv("REPRISE_PROVE") == "1" }

// Every step of the plan, each twice: an emptied Redis has what SQL says, everything can go on, and a write of an older epoch changes
// nothing.
func TestPlan(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 30)
		stop := p.work()
		first := p.events(300)
		p.send(first)
		if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); err != nil {
			t.Fatal(err)
		}
		p.send(p.events(200))
		stop()
		p.server.FlushAll()
		p.otherPolicies()

		plan := p.plan()
		if g, err := plan.Generation(ctx); g != "" || err != nil {
			t.Errorf("an emptied Redis has generation %q, %v", g, err)
		}
		fence := restore.Fence{Session: 1, Epoch: 5, Generation: fmt.Sprintf("%032x", rand.Uint64())}
		for range 2 {
			for name, step := range map[string]func(context.Context, restore.Fence) error{"close": plan.CloseGate, "drain": plan.Drain} {
				if err := step(ctx, fence); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			p.must(plan.Renew(ctx, fence))
		}
		if _, err := plan.Apply(ctx, 0, restore.Target{To: "~", Units: 1}, fence); !errors.Is(err, restore.ErrFenced) {
			t.Errorf("without a fence: %v", err)
		}
		p.must(plan.WriteFence(ctx, fence))
		expected, err := plan.Expect(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		for phase := range plan.Describe().Phases {
			var done restore.Done
			for range 2 {
				each(t, plan, phase, func(target restore.Target) error {
					d, err := plan.Apply(ctx, phase, target, fence)
					done.Units, done.Skipped = done.Units+d.Units, done.Skipped+d.Skipped
					return err
				})
			}
			if done.Units != expected || done.Skipped != expected {
				t.Errorf("phase %d: %+v of %d units", phase, done, expected)
			}
		}
		older := fence
		older.Epoch--
		if err := plan.WriteFence(ctx, older); !errors.Is(err, restore.ErrFenced) {
			t.Errorf("an older fence: %v", err)
		}
		p.lateWrites(plan, fence, older)
		if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); !errors.Is(err, meterledger.ErrHeld) {
			t.Errorf("a fold meanwhile: %v", err)
		}
		each(t, plan, len(phases()), func(target restore.Target) error {
			_, findings, err := plan.Verify(ctx, target, fence)
			if len(findings) > 0 {
				t.Errorf("found %+v", findings)
			}
			return err
		})
		p.must(plan.CleanUp(ctx, fence))
		for range 2 {
			p.must(plan.OpenGate(ctx, fence))
		}
		defer p.work()()
		p.send(append(first, p.events(200)...))
		p.audit()
	})
}

// lateWrites has every phase written once more, when all of them are done: with the fence's epoch it has no effect, with an older one it is
// refused.
func (p *plant) lateWrites(plan *Plan, fence, older restore.Fence) {
	p.t.Helper()
	before := p.contents()
	for phase := range plan.Describe().Phases {
		each(p.t, plan, phase, func(target restore.Target) error {
			if _, err := plan.Apply(p.t.Context(), phase, target, older); !errors.Is(err, restore.ErrFenced) {
				p.t.Errorf("a write of phase %d with an older epoch: %v", phase, err)
			}
			done, err := plan.Apply(p.t.Context(), phase, target, fence)
			if done.Units > 0 {
				p.t.Errorf("a late write of phase %d: %+v", phase, done)
			}
			return err
		})
	}
	if diff := difference(before, p.contents()); diff != "" {
		p.t.Errorf("late writes changed something: %s", diff)
	}
}
