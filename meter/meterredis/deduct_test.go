package meterredis

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/metertest"
	"github.com/reprise-dev/reprise/store/redisstore"
)

func calendar(t testing.TB) meter.Calendar {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c, err := meter.NewCalendar(zone, 15)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func horizon() meter.Horizon {
	return meter.Horizon{Retention: 7 * 24 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead}
}

// count is how many cases there are, and how many when it is to be proved.
func count(usual, proving int) int {
	if os.Getenv("REPRISE_PROVE") == "1" {
		return proving
	}
	return usual
}

// newMeter is a meter on a database of its own.
func newMeter(t testing.TB, dsn string) *Meter {
	t.Helper()
	if err := redisstore.InitNew(t.Context(), dsn, redisstore.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := redisstore.Open(t.Context(), dsn, redisstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := New(s, Options{Calendar: calendar(t), Horizon: horizon()})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put writes a state and the policies of a case, whatever was there before.
func (m *Meter) put(t testing.TB, c metertest.Case) {
	t.Helper()
	u := unitOf(c.State.Line, c.State.Family)
	b := m.client.B()
	var commands rueidis.Commands
	hash := func(key string, fields []meter.Field) {
		commands = append(commands, b.Del().Key(key).Build())
		if len(fields) == 0 {
			return
		}
		set := b.Hset().Key(key).FieldValue()
		for _, f := range fields {
			set = set.FieldValue(f.Name, f.Value)
		}
		commands = append(commands, set.Build())
	}
	unit := []meter.Field{}
	add := func(there bool, name, value string) {
		if there {
			unit = append(unit, meter.Field{Name: name, Value: value})
		}
	}
	s := c.State.Unit
	add(s.Generation != "", fieldGeneration, string(s.Generation))
	add(s.Phase != 0, fieldPhase, number(int64(s.Phase)))
	add(s.Open, fieldOpen, "1")
	add(s.MonthOpen, openedField(c.State.Month), "1")
	stamp := stampOf(c.Policies.Line)
	add(stamp != "", policiesField(c.State.Line), stamp)
	hash(m.names.unit(u), unit)
	hash(m.names.linePolicies(u, c.State.Line), c.Policies.Line.LineFields())
	for _, e := range m.names.entries(c.State) {
		if e.text != "" {
			commands = append(commands, b.Set().Key(e.key).Value(e.text).Build())
		} else {
			hash(e.key, e.fields)
		}
	}
	for _, id := range meter.AllPolicies() {
		commands = append(commands, b.Del().Key(m.names.policy(u.bucket, id)).Build())
	}
	for _, reply := range m.client.DoMulti(t.Context(), commands...) {
		if err := reply.Error(); err != nil {
			t.Fatal(err)
		}
	}
	var calls []rueidis.LuaExec
	for _, id := range meter.AllPolicies() {
		if p := c.Policies.Global.Get(id); p.Version() > 0 {
			calls = append(calls, rueidis.LuaExec{Keys: m.policyKeys(u.bucket), Args: policyArguments(p)})
		}
	}
	for _, reply := range m.policy.ExecMulti(t.Context(), m.client, calls...) {
		if err := reply.Error(); err != nil {
			t.Fatal(err)
		}
	}
}

// The script comes to the state and the text that the reference comes to, and refuses what it refuses, for its reason.
func TestScriptIsApply(t *testing.T) {
	t.Parallel()
	t.Run("standalone", func(t *testing.T) {
		t.Parallel()
		scriptIsApply(t, newMeter(t, servicetest.Redis(t).Database(t)), count(3000, 200_000))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Node: servicetest.RedisOptions{Persistence: servicetest.PersistNothing}})
		scriptIsApply(t, newMeter(t, cluster.DSN()), count(500, 10_000))
	})
}

func scriptIsApply(t *testing.T, m *Meter, count int) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	cases := metertest.NewCases(seed, calendar(t))
	reasons := map[meter.Reason]int{}
	for range count {
		c, err := cases.Next()
		if err != nil {
			t.Fatal(err)
		}
		c = m.here(c)
		m.put(t, c)
		reason := m.compare(t, c)
		if reasons[reason]++; t.Failed() {
			t.Fatalf("state %+v\nevent %+v", c.State, c.Event)
		}
	}
	t.Logf("%d cases: %v", sum(reasons), reasons)
}

func sum(reasons map[meter.Reason]int) (total int) {
	for _, n := range reasons {
		total += n
	}
	return total
}

// here moves a case into the generation of this Redis, and leaves out what no keys can say.
func (m *Meter) here(c metertest.Case) metertest.Case {
	drawn, here := c.State.Generation, m.generationOf(unitOf(c.State.Line, c.State.Family))
	c.State.Generation = here
	if c.State.Unit.Generation == drawn {
		c.State.Unit.Generation = here
	}
	if c.State.Moved {
		c.State.Known, c.State.LineVersion = false, 0
	}
	return c
}

// checked is a delivery of which the done log has no row.
func (m *Meter) checked(t testing.TB, d Delivery) Delivery {
	t.Helper()
	checks, err := m.Checks(t.Context(), []Delivery{d})
	if err != nil {
		t.Fatal(err)
	}
	d.Checked = checks[0]
	return d
}

// compare decides a case both ways.
func (m *Meter) compare(t testing.TB, c metertest.Case) meter.Reason {
	t.Helper()
	s := c.State
	next, result, refused := meter.Apply(s, c.Event, c.Policies)
	got, err := m.Deduct(t.Context(), m.checked(t, Delivery{Event: c.Event, Family: s.Family}))
	reason, want := reasonOf(err), reasonOf(refused)
	if reason != want || (err == nil) != (refused == nil) {
		t.Errorf("refused with %v, want %v", err, refused)
		return want
	}
	if err == nil && (got.Result.Text() != result.Text() || got.Replayed) {
		t.Errorf("decided %+v, want %s", got, result.Text())
	}
	after, err := m.State(context.WithoutCancel(t.Context()), s.Line, s.Family, s.App, s.Day, s.Month)
	if diff := cmp.Diff(next, after); diff != "" || err != nil {
		t.Errorf("%v; (-want +got)\n%s", err, diff)
	}
	return want
}

func reasonOf(err error) meter.Reason {
	if refusal, ok := errors.AsType[*meter.Refusal](err); ok {
		return refusal.Reason
	}
	return ""
}
