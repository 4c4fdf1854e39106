package meterredis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// town is a family of two lines and a line in none, with grants of this month, as a book and in a Redis.
type town struct {
	m        *Meter
	units    []Members
	families map[string]string
	grants   []meter.Grant
	rows     []meter.Row
	policies meter.Policies
	now      time.Time
	days     []meter.Day
	months   []meter.Month
	events   int
}

func newTown(t testing.TB) *town {
	t.Helper()
	return newTownOn(t, servicetest.Redis(t).Database(t))
}

func newTownOn(t testing.TB, dsn string) *town {
	t.Helper()
	v := &town{
		m: newMeter(t, dsn), now: time.Now().Truncate(time.Microsecond),
		units:    []Members{{Family: "smith", Lines: []string{"line-1", "line-2"}}, {Lines: []string{"line-3"}}},
		families: map[string]string{"line-1": "smith", "line-2": "smith", "line-3": ""},
	}
	c := calendar(t)
	v.policies.Calendar = c
	for _, id := range meter.AllPolicies() {
		v.put(t, id, 1, "")
	}
	day := c.Day(v.now)
	v.days, v.months = []meter.Day{day.Previous(), day, day.Next()}, []meter.Month{c.MonthOf(day.Previous()), c.MonthOf(day.Next())}
	for _, month := range []meter.Month{c.MonthOf(day.Previous()), c.MonthOf(day), c.MonthOf(day.Next())} {
		for line := range v.families {
			v.grant(meter.Grant{Line: line, Month: month, Individual: 5000, QoS: 2000})
		}
		v.grant(meter.Grant{Family: "smith", Month: month, Shared: 4000})
	}
	return v
}

// put puts a global policy, in SQL and in Redis. A gate says that it is closed unless text says otherwise.
func (v *town) put(t testing.TB, id meter.PolicyID, version int64, text string) {
	t.Helper()
	if id == meter.Gate && text == "" {
		text = "open=no"
	}
	p, err := meter.ParsePolicy(id, version, text)
	if err == nil {
		err = v.m.PutPolicy(t.Context(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	v.policies.Global = v.policies.Global.With(p)
}

func (v *town) grant(g meter.Grant) {
	for _, before := range v.grants {
		if before.Line == g.Line && before.Family == g.Family && before.Month == g.Month {
			return
		}
	}
	g.ID = fmt.Sprintf("grant-%d", len(v.grants))
	v.grants = append(v.grants, g)
}

// book is what follows from rows and grants.
func (v *town) book(t testing.TB) *meter.Book {
	t.Helper()
	b, err := meter.Rebuild(meter.Source{Generation: v.m.generationOf(unitOf("line-3", "")), Members: v.families, Grants: v.grants, Rows: v.rows})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (v *town) event() meter.Event {
	v.events++
	line := fmt.Sprintf("line-%d", 1+rand.IntN(3))
	return meter.Event{
		ID: fmt.Sprintf("event-%d", v.events), Line: line, App: []string{"video", "chat"}[rand.IntN(2)], Bytes: 1 + rand.Int64N(400), At: v.now,
	}
}

func (v *town) hydrate(t testing.TB) {
	t.Helper()
	h := NewHydration(v.book(t), nil, v.days, v.months, v.now.Add(-time.Hour))
	for _, u := range v.units {
		if err := v.m.Hydrate(t.Context(), u, h); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares Redis with a book.
func (v *town) same(t testing.TB, b *meter.Book) {
	t.Helper()
	for line, family := range v.families {
		for _, app := range []string{"video", "chat"} {
			day := v.policies.Calendar.Day(v.now)
			want := b.State(line, app, day, v.policies.Calendar.MonthOf(day))
			got, err := v.m.State(t.Context(), line, family, app, day, want.Month)
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("%v; (-want +got)\n%s", err, diff)
			}
		}
	}
}

// What is hydrated is the state that follows from SQL, whatever was there before, and decisions go on from it as the model's
// do. It is done behind a closed gate, and once.
func TestHydrate(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	model := v.book(t)
	gateOpen := v.policies
	open, err := meter.ParsePolicy(meter.Gate, 2, "open=yes")
	if err != nil {
		t.Fatal(err)
	}
	gateOpen.Global = gateOpen.Global.With(open)
	for range 20 {
		row, err := model.Apply(v.event(), gateOpen)
		if err != nil {
			t.Fatal(err)
		}
		v.rows = append(v.rows, row)
	}
	u := unitOf("line-1", "smith")
	for _, junk := range []string{v.m.names.individual(u, "line-1", v.months[0]), v.m.names.dailyApp(u, "line-2", v.days[1]), v.m.names.shared(u, "smith", v.months[0])} {
		v.set(t, junk)
	}
	if _, err := v.m.Deduct(t.Context(), Delivery{Event: v.event(), Family: ""}); reasonOf(err) != meter.GateClosed {
		t.Errorf("before: %v", err)
	}
	v.hydrate(t)
	model = v.book(t) // versions count from 0 again
	v.same(t, model)
	h := NewHydration(model, nil, v.days, v.months, v.now)
	if err := v.m.Hydrate(t.Context(), v.units[0], h); !errors.Is(err, ErrComplete) {
		t.Errorf("hydrated again: %v", err)
	}
	v.put(t, meter.Gate, 2, "open=yes")
	if err := v.m.Hydrate(t.Context(), v.units[0], h); !errors.Is(err, ErrGateOpen) {
		t.Errorf("behind an open gate: %v", err)
	}
	for range 30 {
		e := v.event()
		got, err := v.m.Deduct(t.Context(), Delivery{Event: e, Family: v.families[e.Line]})
		if err != nil {
			t.Fatal(err)
		}
		want, err := model.Apply(e, v.policies)
		if err != nil || got.Result != want.Result {
			t.Errorf("decided %s, %v, want %s", got.Result.Text(), err, want.Result.Text())
		}
		v.rows = append(v.rows, want)
	}
	v.same(t, model)

	old := v.event()
	old.At = v.now.Add(-2 * time.Hour)
	if _, err := v.m.Deduct(t.Context(), Delivery{Event: old, Family: v.families[old.Line]}); !errors.Is(err, ErrUnchecked) {
		t.Errorf("an event from before the hydration: %v", err)
	}
	late := v.m.checked(t, Delivery{Event: old, Family: v.families[old.Line]})
	late.Checked += "1"
	if _, err := v.m.Deduct(t.Context(), late); !errors.Is(err, ErrUnchecked) {
		t.Errorf("after a look at the done log, before the unit began anew: %v", err)
	}
	if _, err := v.m.Deduct(t.Context(), v.m.checked(t, Delivery{Event: old, Family: v.families[old.Line]})); err != nil {
		t.Errorf("after a look at the done log: %v", err)
	}
	v.settles(t)
	if err := v.m.client.Do(t.Context(), v.m.client.B().Flushdb().Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if _, err := v.m.Deduct(t.Context(), Delivery{Event: v.event(), Family: ""}); !errors.Is(err, store.ErrLost) && reasonOf(err) == "" {
		t.Errorf("on an emptied Redis: %v", err)
	}
}

// settles checks that what was hydrated expires, because SQL has it, and what events made only when it is settled.
func (v *town) settles(t testing.TB) {
	t.Helper()
	last := v.rows[len(v.rows)-1]
	if last.Result.Served() == 0 {
		return
	}
	u := unitOf(last.Event.Line, last.Result.Family)
	key := v.m.names.dailyTotal(u, last.Event.Line, last.Result.Day)
	expiry := func() int64 {
		at, err := v.m.client.Do(t.Context(), v.m.client.B().Pexpiretime().Key(key).Build()).AsInt64()
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := v.m.DayExpiry(last.Result.Day).UnixMilli()
	if at := expiry(); at != want && at != -1 { // the last event may have made it
		t.Errorf("what is hydrated expires at %d, want %d", at, want)
	}
	if err := v.m.client.Do(t.Context(), v.m.client.B().Persist().Key(key).Build()).Error(); err != nil {
		t.Fatal(err)
	}
	if err := v.m.Settle(t.Context(), v.rows); err != nil {
		t.Fatal(err)
	}
	if at := expiry(); at != want {
		t.Errorf("what is settled expires at %d, want %d", at, want)
	}
	again, err := v.m.Deduct(t.Context(), Delivery{Event: last.Event, Family: last.Result.Family})
	if err != nil || !again.Replayed || again.Result != last.Result {
		t.Errorf("delivered again: %+v, %v", again, err)
	}
}

// The first phase of a restore deletes nothing where Redis has nothing of a unit, and everything where there is something left of it: from
// then on everywhere.
func TestFirstPhase(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	begin := func(u Members) {
		t.Helper()
		if err := v.m.AddPhase(t.Context(), u, NewHydration(v.book(t), nil, v.days, v.months, v.now), meter.PhaseHydrated, ""); err != nil {
			t.Error(err)
		}
	}
	left := func(u Members) string { // a counter that nothing is written to
		key := v.m.names.dailyShared(unitOf(u.Lines[0], u.Family), u.Lines[0], v.days[0])
		v.set(t, key)
		return key
	}
	alone, family := v.units[1], v.units[0]
	stays := left(alone)
	begin(alone)
	if c, err := v.m.Content(t.Context(), stays); err != nil || c.Type == TypeNone || v.m.older.Load() {
		t.Errorf("%+v, %v, %v", c, err, v.m.older.Load())
	}
	goes := left(family)
	v.set(t, v.m.names.lineVersion(unitOf("", "smith"), "line-2"))
	begin(family)
	if c, err := v.m.Content(t.Context(), goes); err != nil || c.Type != TypeNone || !v.m.older.Load() {
		t.Errorf("%+v, %v, %v", c, err, v.m.older.Load())
	}
	begun := v.m.AddPhase(t.Context(), family, NewHydration(v.book(t), nil, v.days, v.months, v.now), meter.PhaseHydrated, "")
	if !errors.Is(begun, ErrComplete) {
		t.Errorf("begun twice: %v", begun)
	}
}

// set makes a key by hand.
func (v *town) set(t testing.TB, key string) {
	t.Helper()
	if err := v.m.client.Do(t.Context(), v.m.client.B().Set().Key(key).Value("from an older dump").Build()).Error(); err != nil {
		t.Fatal(err)
	}
}
