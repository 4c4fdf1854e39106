package meterredis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// A unit's key that is no unit is not there: the unit is written over it, in one go and phase by phase.
func TestUnitOfAnotherType(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	u, h := v.units[0], NewHydration(v.book(t), nil, v.days, v.months, v.now.Add(-time.Hour))
	key := v.m.names.unit(unitOf("line-1", "smith"))
	through := func(phases ...meter.Phase) {
		t.Helper()
		for _, phase := range phases {
			if err := v.m.AddPhase(t.Context(), u, h, phase, ""); err != nil {
				t.Error(err)
			}
		}
	}
	v.set(t, key)
	through(meter.PhaseHydrated)
	v.set(t, key)
	if err := v.m.AddPhase(t.Context(), u, h, meter.PhaseTotals, ""); !errors.Is(err, ErrNotBefore) {
		t.Errorf("after the first phase: %v", err)
	}
	if err := v.m.WritePhase(t.Context(), u, h, meter.PhaseTotals, ""); err != nil {
		t.Error(err)
	}
	through(meter.PhaseRows)
	v.set(t, key)
	v.hydrate(t)
	v.same(t, v.book(t))
}

// A day on which a line used very many apps is written like any other: whole, phase by phase, and where the line moves to.
func TestVeryManyApps(t *testing.T) {
	t.Parallel()
	v := newTown(t)
	const apps = 1500
	book, day := v.book(t), v.days[1]
	for line := range v.families {
		for n := range apps {
			book.DailyApp[meter.AppKey{Line: line, Day: day, App: fmt.Sprintf("app-%d", n)}] = meter.AppUsage{Individual: 1, Shared: 2, QoS: 3}
		}
		book.DailyTotal[meter.DayKey{Line: line, Day: day}] = apps * 6
	}
	h := NewHydration(book, nil, v.days, v.months, v.now.Add(-time.Hour))
	for _, phase := range []meter.Phase{meter.PhaseHydrated, meter.PhaseTotals, meter.PhaseRows} {
		if err := v.m.AddPhase(t.Context(), v.units[0], h, phase, ""); err != nil {
			t.Error(err)
		}
	}
	if err := v.m.Hydrate(t.Context(), v.units[1], h); err != nil {
		t.Error(err)
	}
	v.put(t, meter.Gate, 2, "open=yes")
	if err := v.m.Arrive(t.Context(), Step{Line: "line-3", Number: 1}, "jones", h); err != nil {
		t.Error(err)
	}
	for _, of := range []struct{ line, family string }{{"line-1", "smith"}, {"line-2", "smith"}, {"line-3", ""}, {"line-3", "jones"}} {
		c, err := v.m.Content(t.Context(), v.m.names.dailyApp(unitOf(of.line, of.family), of.line, day))
		if err != nil || len(c.Fields) != 3*apps {
			t.Errorf("%+v has %d counters, want %d: %v", of, len(c.Fields), 3*apps, err)
		}
	}
}

// What Redis says to a unit's script tells a unit that cannot be written from a Redis that is to be waited for, and from one that lets nobody.
func TestWhatRedisSaysOfAUnit(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	v := newTownOn(t, server.DSN(0))
	h := NewHydration(v.book(t), nil, v.days, v.months, v.now)
	for _, c := range []struct {
		name       string
		begin, end []string
		waits      bool
		says       string
	}{
		{"no replicas", []string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}, true, "min-replicas-to-write"},
		{"a right", []string{"ACL", "SETUSER", "app", "-del"}, []string{"ACL", "SETUSER", "app", "+del"}, false, "ACL rule"},
		{"all scripts", []string{"ACL", "SETUSER", "app", "-@scripting"}, []string{"ACL", "SETUSER", "app", "+@scripting"}, false, "ACL rule"},
		{"damage", []string{"SET", v.m.names.policy(unitOf("line-3", "").bucket, meter.Gate), "no hash"}, []string{"DEL", v.m.names.policy(unitOf("line-3", "").bucket, meter.Gate)}, false, "WRONGTYPE"},
	} {
		server.Do(c.begin...)
		err := v.m.AddPhase(t.Context(), v.units[1], h, meter.PhaseHydrated, "")
		if err == nil || errors.Is(err, store.ErrUnavailable) != c.waits || errors.Is(err, store.ErrIndeterminate) || !strings.Contains(err.Error(), c.says) || Refused(err) != (c.says == "ACL rule") {
			t.Errorf("%s: %v, refused %v", c.name, err, Refused(err))
		}
		server.Do(c.end...)
	}
	v.put(t, meter.Gate, 2, "open=no")
	v.hydrate(t)
	v.same(t, v.book(t))
}
