package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// hydrateAgain hydrates a Redis that lost its data, as an operator does.
func (p *plant) hydrateAgain() Hydrated {
	p.t.Helper()
	done, err := Hydrate(p.t.Context(), p.hydration())
	if err != nil {
		p.t.Fatal(err)
	}
	return done
}

// On a Redis that was emptied under load nothing is decided until it was hydrated. Then what is sent again counts once, whether
// it had been decided before or was lost in a stream.
func TestEmptiedRedis(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	p := newPlantOn(t, server.DSN(1), servicetest.Postgres(t).Database(t), 20)
	defer p.work()()
	var events []meter.Event
	for n := range 400 {
		events = append(events, p.event(n))
	}
	in := p.intake(false)
	for from := 0; from < 400; from += 100 {
		p.accept(in, events[from:from+100])
	}
	p.rows(events[:100])
	server.FlushAll()

	for range 100 { // whatever is asked for
		if _, err := p.meter.Deduct(t.Context(), meterredis.Delivery{Event: p.event(5000)}); !errors.Is(err, store.ErrLost) && !errors.Is(err, meter.GateClosed) {
			t.Fatalf("on an emptied Redis: %v", err)
		}
	}
	p.hydrateAgain()
	p.accepted(in, events)
	p.rows(events)
	p.drained()
	p.audit()
}

// accepted sends events until all are taken in.
func (p *plant) accepted(in *Intake, events []meter.Event) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	for len(events) > 0 {
		receipts, err := in.Accept(ctx, time.Now(), events)
		if ctx.Err() != nil {
			p.t.Fatalf("%d events are not taken in: %v", len(events), err)
		}
		if err != nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		events = nil
		for _, r := range receipts {
			if r.Err != nil {
				events = append(events, r.Event)
			}
		}
	}
}

// A worker that was held back with what it had decided, while Redis was hydrated again: its rows are refused, and the events are
// decided again.
func TestWorkerOfAnOlderGeneration(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 6)
		w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
		var deliveries []delivery
		var events []meter.Event
		for n := range 50 {
			events = append(events, p.event(n))
			deliveries = append(deliveries, delivery{text: string(events[n].AppendJSON(nil))})
		}
		fates := w.decide(t.Context(), deliveries)
		for _, f := range fates {
			if f.row == nil || f.err != nil {
				t.Fatalf("%+v", f)
			}
		}
		closed, err := meter.ParsePolicy(meter.Gate, 1000, "open=no") // as when its gate's key was lost
		if err == nil {
			err = p.meter.PutPolicy(t.Context(), closed)
		}
		if err != nil {
			t.Fatal(err)
		}
		h := p.hydration()
		h.Renew = true
		if _, err := Hydrate(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		w.commit(t.Context(), fates)
		for _, f := range fates {
			if !errors.Is(f.err, meterledger.ErrOldGeneration) {
				t.Fatalf("a row of the older generation: %+v", f)
			}
		}
		for {
			fates = w.decide(t.Context(), deliveries)
			w.commit(t.Context(), fates)
			if fates[0].err == nil { // a process that has the store open learns the generation when it is refused
				break
			}
		}
		p.rows(events)
		p.audit()
	})
}

// Of 1,000 deductions at once on a family with an allowance for 500, exactly 500 are served from it.
func TestOneFamilyAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4) // lines 0 and 2 are in one family
	for _, line := range []string{"line-0", "line-2"} {
		all := meter.Event{ID: "all-of-it", Line: line, App: "video", Bytes: 20_000, At: time.Now().Truncate(time.Microsecond)}
		if _, err := p.meter.Deduct(t.Context(), p.checked(all, "family-0")); err != nil {
			t.Fatal(err)
		}
	}
	var served atomic.Int64
	var group sync.WaitGroup
	for n := range 1000 {
		group.Go(func() {
			e := meter.Event{ID: fmt.Sprint(n), Line: fmt.Sprintf("line-%d", n%2*2), App: "video", Bytes: 60, At: time.Now().Truncate(time.Microsecond)}
			d, err := p.meter.Deduct(t.Context(), p.checked(e, "family-0"))
			if err != nil {
				t.Error(err)
			}
			if d.Result.Shared == 60 {
				served.Add(1)
			} else if d.Result.Shared != 0 {
				t.Errorf("half of an amount: %+v", d.Result)
			}
		})
	}
	group.Wait()
	if served.Load() != 500 { // 30,000 bytes
		t.Errorf("%d of 500 were served", served.Load())
	}
}

// Events of a unit that is closed wait beside those of others, however many they are.
func TestClosedUnitKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 200)
	defer p.work()()
	var closed, others []meter.Event
	shard := meterredis.ShardOf("line-1")
	if err := p.meter.OpenUnit(t.Context(), "line-1", "", false); err != nil {
		t.Fatal(err)
	}
	for n := range 500 { // more than two batches
		e := p.event(n)
		e.Line = "line-1"
		closed = append(closed, e)
	}
	for n := 500; len(others) < 20; n++ {
		if e := p.event(n); e.Line != "line-1" && meterredis.ShardOf(e.Line) == shard {
			others = append(others, e)
		}
	}
	p.accepted(p.intake(false), closed)
	p.accepted(p.intake(false), others)
	p.rows(others)
	if n, err := p.streams.Waiting(t.Context()); err != nil || n < 500 {
		t.Errorf("%d wait, %v", n, err)
	}
	if err := p.meter.OpenUnit(t.Context(), "line-1", "", true); err != nil {
		t.Fatal(err)
	}
	p.rows(closed)
	p.drained()
	p.audit()
}

// SQL stops under load: events wait, and none is lost or counted twice. What was acknowledged is recorded (case M5).
func TestSQLStops(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	p := newPlant(t, server.Database(t), 20)
	defer p.work()()
	var events []meter.Event
	for n := range 600 {
		events = append(events, p.event(n))
	}
	in := p.intake(false)
	p.accepted(in, events[:300])
	server.Stop()
	p.accepted(in, events[300:]) // the directory remembers
	if n, err := p.streams.Waiting(t.Context()); err != nil || n < 300 {
		t.Errorf("%d wait, %v", n, err)
	}
	server.Restart()
	p.accepted(in, events[:50])
	p.rows(events)
	p.drained()
	p.audit()
}

// Rows that share a commit are answered each for itself. A row that is refused keeps nobody else's out.
func TestRowsShareACommit(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 6)
		w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
		var group []*appending
		for n := range 3 {
			e := p.event(n)
			f := w.decide(t.Context(), []delivery{{text: string(e.AppendJSON(nil))}, {text: string(e.AppendJSON(nil))}})
			group = append(group, &appending{rows: []meter.Row{*f[0].row, *f[1].row}, done: make(chan struct{})})
		}
		bad := group[1].rows[0]
		bad.Result.Individual++
		group[1].rows[0] = bad
		g := p.meter.Generation()
		for round, want := range []meterledger.Outcome{meterledger.Inserted, meterledger.Already} {
			for _, one := range group {
				one.done = make(chan struct{})
			}
			w.appender.commit(t.Context(), g, group)
			for i, one := range group {
				<-one.done
				first, second := one.added[0], one.added[1]
				wantSecond := meterledger.Already
				if i == 1 {
					wantSecond = want
				}
				if bad := i == 1; errors.Is(first.err, meter.BadRow) != bad || !bad && first.Outcome != want || second.err != nil || second.Outcome != wantSecond {
					t.Errorf("round %d, %d: %+v", round, i, one.added)
				}
			}
		}
	})
}

// A worker holds more than the ledger takes at once: what it read, what it claimed, and what waited. All of it gets its rows, also
// where these have to be looked for first.
func TestMoreThanTheLedgerTakes(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 6)
		var events []meter.Event
		var deliveries []delivery
		for n := range 100 {
			e := p.event(n)
			events, deliveries = append(events, e), append(deliveries, delivery{text: string(e.AppendJSON(nil))})
		}
		for len(deliveries) <= meterledger.MaxBatch {
			deliveries = append(deliveries, deliveries[:len(events)]...)
		}
		for round := range 2 {
			w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
			for _, f := range w.record(t.Context(), deliveries) {
				if !f.done {
					t.Fatalf("round %d: %v, %v", round, f.err, f.why)
				}
			}
			p.rows(events)
			p.audit()
			p.must(p.hydrateAnew()) // which has no records of them
		}
	})
}

// An event that comes again when rows of its day were purged is a dead letter, and is not counted: nobody knows whether it was.
func TestEventOfAPurgedDay(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 4)
		ctx, stop := t.Context(), p.work()
		e := p.event(1)
		p.accept(p.intake(false), []meter.Event{e})
		p.rows([]meter.Event{e})
		p.drained()
		stop()
		if _, err := p.ledger.Fold(ctx, meterledger.FoldOptions{}); err != nil {
			t.Fatal(err)
		}
		if n, err := p.ledger.PurgeDone(ctx, meterledger.Purge{Through: p.calendar.Day(e.At), RecordedBefore: time.Now().Add(time.Hour)}); n != 1 || err != nil {
			t.Fatalf("%d rows were purged, %v", n, err)
		}
		p.must(p.hydrateAnew()) // which has no record of it
		defer p.work()()
		p.accept(p.intake(false), []meter.Event{e})
		p.drained()
		dead, err := p.streams.DeadLetters(ctx, meterredis.ShardOf(e.Line), "", 10)
		if err != nil || len(dead) != 1 || dead[0].Reason != meter.TooOld {
			t.Errorf("dead letters: %+v, %v", dead, err)
		}
		p.audit()
	})
}

// A worker that dies after its row is committed leaves keys that do not expire. Whoever comes upon the event again lets them expire, also where it is so
// old that the done log was asked about it: before the one that died had decided it, which a record that is gone stands for here.
func TestWhatADeadWorkerLeftExpires(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 4)
		ctx, e := t.Context(), p.event(1)
		family := p.families[e.Line]
		decided, err := p.meter.Deduct(ctx, p.checked(e, family))
		if err != nil {
			t.Fatal(err)
		}
		row := meter.Row{Event: e, Result: decided.Result}
		if _, err := p.ledger.AppendDone(ctx, row.Result.Generation, []meter.Row{row}); err != nil {
			t.Fatal(err)
		}
		members := meterredis.Members{Family: family}
		if family == "" {
			members.Lines = []string{e.Line}
		}
		key := p.meter.KeysOf(members).DailyTotal(e.Line, row.Result.Day)
		expires := func() time.Time {
			c, err := p.meter.Content(ctx, key)
			if err != nil || c.Type != meterredis.TypeString {
				t.Fatalf("%s: %v, %v", key, c, err)
			}
			return c.Expires
		}
		if at := expires(); !at.IsZero() {
			t.Fatalf("%s expires at %v before its row is known to be in SQL", key, at)
		}
		p.forgotten()
		defer p.work()()
		p.accept(p.intake(false), []meter.Event{e})
		p.drained()
		if at := expires(); !at.Equal(p.meter.DayExpiry(row.Result.Day)) {
			t.Errorf("%s expires at %v, and its row is in SQL", key, at)
		}
	})
}

// forgotten removes the records of all events.
func (p *plant) forgotten() {
	p.t.Helper()
	option, err := rueidis.ParseURL(p.redis)
	if err != nil {
		p.t.Fatal(err)
	}
	option.DisableCache = true
	client, err := rueidis.NewClient(option)
	if err != nil {
		p.t.Fatal(err)
	}
	defer client.Close()
	removed := int64(0)
	p.must(p.meter.EachKey(p.t.Context(), func(key string) error {
		if _, name, _ := strings.Cut(key, "}:"); !strings.HasPrefix(key, "meter:") || len(name) != len("r")+4+len(machine.Digest{}) { // a part of the generation, and the digest
			return nil
		}
		n, err := client.Do(p.t.Context(), client.B().Del().Key(key).Build()).AsInt64()
		removed += n
		return err
	}))
	if removed == 0 {
		p.t.Fatal("there is no record")
	}
}
