package pipeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// plant is a meter with its databases.
type plant struct {
	t         *testing.T
	ledger    *meterledger.Ledger
	dsn       string // of the ledger
	redis     string
	calendar  meter.Calendar
	horizon   meter.Horizon
	families  map[string]string // of lines
	directory *Directory
	meter     *meterredis.Meter
	streams   *meterredis.Streams
}

// newPlant makes a plant with some lines, half of them in families, that is hydrated and open.
func newPlant(t *testing.T, dsn string, lines int) *plant {
	t.Helper()
	return newPlantOn(t, servicetest.Redis(t).Database(t), dsn, lines)
}

func newPlantOn(t *testing.T, redis, dsn string, lines int) *plant {
	t.Helper()
	p := &plant{t: t, redis: redis, horizon: meter.Horizon{Retention: 48 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead}}
	p.build(dsn, lines)
	return p
}

// build makes the lines of a plant, hydrates it, and opens it.
func (p *plant) build(dsn string, lines int) {
	t := p.t
	t.Helper()
	p.families, p.dsn = map[string]string{}, dsn
	var err error
	if p.ledger, err = meterledger.Open(t.Context(), dsn, meterledger.Options{Migrate: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.must(p.ledger.Close()) })
	p.directory = NewDirectory(p.ledger, time.Minute)
	p.populate(lines)
	if _, err := p.keeper().OpenMonths(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Hydrate(t.Context(), p.hydration()); err != nil {
		t.Fatal(err)
	}
	p.open()
}

func (p *plant) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Error(err)
	}
}

func (p *plant) populate(lines int) {
	var all []meterledger.Line
	families := map[string]meterledger.Family{}
	for i := range lines {
		line := meterledger.Line{ID: fmt.Sprintf("line-%d", i), Individual: 20_000, QoS: 5000}
		if i%2 == 0 {
			line.Family = fmt.Sprintf("family-%d", i/4)
			families[line.Family] = meterledger.Family{ID: line.Family, Shared: 30_000}
		}
		p.families[line.ID] = line.Family
		all = append(all, line)
	}
	var list []meterledger.Family
	for _, f := range families {
		list = append(list, f)
	}
	if err := p.ledger.Import(p.t.Context(), list, all, []string{"video", "chat"}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) hydration() Hydration {
	return Hydration{
		Ledger: p.ledger, Redis: p.redis, Calendar: p.calendar, Horizon: p.horizon, Who: "test", Why: "it begins",
	}
}

// open opens the meter on Redis.
func (p *plant) open() {
	p.t.Helper()
	var err error
	if p.meter, err = meterredis.Open(p.t.Context(), p.redis, meterredis.Options{Calendar: p.calendar, Horizon: p.horizon}, nil); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { p.must(p.meter.Close()) })
	if p.streams, err = p.meter.OpenStreams(p.t.Context(), 100_000); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) keeper() *Keeper {
	return &Keeper{Meter: p.meter, Ledger: p.ledger, Directory: p.directory, Calendar: p.calendar, Horizon: p.horizon}
}

func (p *plant) intake(durable bool) *Intake {
	return &Intake{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory, Horizon: p.horizon, Durable: durable}
}

// checked is a delivery of an event of which the done log has no row.
func (p *plant) checked(e meter.Event, family string) meterredis.Delivery {
	p.t.Helper()
	d := meterredis.Delivery{Event: e, Family: family}
	checks, err := p.meter.Checks(p.t.Context(), []meterredis.Delivery{d})
	if err != nil {
		p.t.Error(err)
		return d
	}
	d.Checked = checks[0]
	return d
}

// work runs a worker until the function that it returns is called.
func (p *plant) work() (stop func()) {
	return p.workBy(WorkerOptions{Batch: 200, Idle: time.Second})
}

// workBy does so with options.
func (p *plant) workBy(o WorkerOptions) (stop func()) {
	ctx, cancel := context.WithCancel(p.t.Context())
	o.Meter, o.Streams, o.Ledger, o.Directory = p.meter, p.streams, p.ledger, p.directory
	w := NewWorker(o)
	var group sync.WaitGroup
	group.Go(func() { w.Run(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

func (p *plant) event(n int) meter.Event {
	return meter.Event{
		ID: fmt.Sprintf("event-%d", n), Line: fmt.Sprintf("line-%d", rand.IntN(len(p.families))), App: []string{"video", "chat"}[n%2],
		Bytes: 1 + rand.Int64N(500), At: time.Now().Add(-time.Duration(rand.IntN(3600)) * time.Second).Truncate(time.Microsecond),
	}
}

// patience ends shortly before the test is ended: how long something takes says nothing, but that it does not come at all has to be told.
func (p *plant) patience() (context.Context, context.CancelFunc) {
	if end, ok := p.t.Deadline(); ok {
		return context.WithDeadline(p.t.Context(), end.Add(-10*time.Second))
	}
	return context.WithCancel(p.t.Context())
}

// rows waits until each of some events has a row, and returns them.
func (p *plant) rows(events []meter.Event) map[meterledger.Identity]meterledger.DoneRow {
	p.t.Helper()
	ids := make([]meterledger.Identity, len(events))
	for i, e := range events {
		ids[i] = meterledger.Identity{Line: e.Line, Event: e.ID}
	}
	ctx, cancel := p.patience()
	defer cancel()
	for {
		found, err := p.ledger.LookupDone(ctx, ids)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(found) == len(ids) {
			return found
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// audit compares Redis with what follows from SQL, today.
func (p *plant) audit() {
	p.t.Helper()
	p.auditOn(p.calendar.Day(time.Now()))
}

// auditOn does so for a day and its month.
func (p *plant) auditOn(today meter.Day) {
	p.t.Helper()
	ranges, err := p.ledger.Ranges(p.t.Context(), 10)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, r := range ranges {
		held, err := p.ledger.Read(p.t.Context(), r, meterledger.Horizon{Months: meter.Span{First: p.calendar.MonthOf(today).Previous(), Last: meter.LastMonth}, Day: today.Previous()})
		if err != nil {
			p.t.Fatal(err)
		}
		book, err := meter.Rebuild(held.Source)
		if err != nil {
			p.t.Fatal(err)
		}
		for line, family := range held.Source.Members {
			for _, app := range []string{"video", "chat"} {
				want := book.State(line, app, today, p.calendar.MonthOf(today))
				got, err := p.meter.State(p.t.Context(), line, family, app, today, want.Month)
				want.LineVersion, want.FamilyVersion = got.LineVersion, got.FamilyVersion
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					p.t.Errorf("line %s: %v (-SQL +Redis)\n%s", line, err, diff)
				}
			}
			changes, err := p.ledger.Changes(p.t.Context(), held.Source.Generation, []string{meter.UnitTag(line, "")}, meter.Span{})
			if err != nil {
				p.t.Fatal(err)
			}
			if c := changes[meter.UnitTag(line, "")]; !c.GapFree() {
				p.t.Errorf("line %s: %+v", line, c)
			}
		}
	}
}

func eachLedger(t *testing.T, test func(t *testing.T, dsn string)) {
	for name, dsn := range map[string]func(t *testing.T) string{
		"postgres": func(t *testing.T) string { return servicetest.Postgres(t).Database(t) },
		"mariadb":  func(t *testing.T) string { return servicetest.MariaDB(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, dsn(t))
		})
	}
}

// Every event has one row, however often it was delivered and whichever worker stopped, and SQL and Redis agree.
func TestEventsAreCountedOnce(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 40)
		first, second := p.work(), p.work()
		var events []meter.Event
		for n := range 600 {
			events = append(events, p.event(n))
		}
		in, again := p.intake(false), p.intake(true)
		for from := 0; from < len(events); from += 100 {
			for _, receipts := range [][]Receipt{p.accept(in, events[from:from+100]), p.accept(in, events[from:from+5]), p.accept(again, events[from:from+5])} {
				for _, r := range receipts {
					if r.Err != nil {
						t.Errorf("%+v: %v", r.Event, r.Err)
					}
				}
			}
			if from == 300 {
				first()
				first = p.work()
			}
		}
		for id, row := range p.rows(events) {
			if row.Event.Line != id.Line {
				t.Errorf("%v: %+v", id, row)
			}
		}
		p.drained()
		p.audit()
		p.must(p.keeper().Fold(t.Context()))
		if _, err := p.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
			t.Error(err)
		}
		p.audit()
		first()
		second()
	})
}

func (p *plant) accept(in *Intake, events []meter.Event) []Receipt {
	p.t.Helper()
	receipts, err := in.Accept(p.t.Context(), time.Now(), events)
	if err != nil {
		p.t.Fatal(err)
	}
	return receipts
}

// drained waits until nothing is under way.
func (p *plant) drained() {
	p.t.Helper()
	ctx, cancel := p.patience()
	defer cancel()
	for {
		n, err := p.streams.Waiting(ctx)
		inbox, _, failure := p.ledger.CountInbox(ctx)
		if err != nil || failure != nil {
			p.t.Fatal(err, failure)
		}
		if n+inbox == 0 {
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// What cannot be decided is refused at intake, or is a dead letter with its reason.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4)
	defer p.work()()
	good := p.event(1)
	bad := map[meter.Reason]func(e *meter.Event){
		meter.UnknownLine: func(e *meter.Event) { e.Line = "nobody" },
		meter.UnknownApp:  func(e *meter.Event) { e.App = "nothing" },
		meter.TooOld:      func(e *meter.Event) { e.At = e.At.Add(-100 * time.Hour) },
		meter.InFuture:    func(e *meter.Event) { e.At = time.Now().Add(2 * time.Hour) },
		meter.BadBytes:    func(e *meter.Event) { e.Bytes = 0 },
	}
	for reason, change := range bad {
		e := good
		change(&e)
		receipts := p.accept(p.intake(false), []meter.Event{e, good})
		if !errors.Is(receipts[0].Err, reason) || receipts[1].Err != nil {
			t.Errorf("%s: %v, and the good one %v", reason, receipts[0].Err, receipts[1].Err)
		}
	}
	row, err := p.intake(false).Await(t.Context(), good)
	if err != nil || row.Event.Digest() != good.Digest() {
		t.Errorf("%+v, %v", row, err)
	}
	other := good
	other.Bytes++
	p.accept(p.intake(false), []meter.Event{other})
	p.drained()
	dead, err := p.streams.DeadLetters(t.Context(), meterredis.ShardOf(other.Line), "", 10)
	if err != nil || len(dead) != 1 || dead[0].Reason != meter.OtherContent {
		t.Errorf("dead letters: %+v, %v", dead, err)
	}
	if _, err := p.intake(false).Await(t.Context(), other); !errors.Is(err, meter.OtherContent) {
		t.Errorf("awaited: %v", err)
	}
	p.audit()
}
