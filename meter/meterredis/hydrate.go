package meterredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

//go:embed script/unit.lua
var unitLua string

// Members are the lines of a unit: those of a family, or one line in none.
type Members struct {
	Family string
	Lines  []string
}

// ErrGateOpen is the error of writing a unit while events are decided.
var ErrGateOpen = errors.New("the gate is open: close it before units are written")

// ErrComplete is the error of writing a unit that is complete in this generation already. It may have changed since.
var ErrComplete = errors.New("the unit is complete already")

// Hydration is what units are made of.
type Hydration struct {
	book     *meter.Book
	policies map[string]meter.PolicySet
	apps     map[meter.DayKey][]string
	days     []meter.Day
	months   []meter.Month
	since    time.Time
}

// NewHydration returns the hydration by a book, which was made of what SQL holds and is not changed any more, and the policies
// that lines have of their own. Days and months are all those of which there may be keys. Events that happened before
// since are decided only when the done log was asked: their records are not there.
func NewHydration(book *meter.Book, policies map[string]meter.PolicySet, days []meter.Day, months []meter.Month, since time.Time) *Hydration {
	h := &Hydration{book, policies, map[meter.DayKey][]string{}, days, months, since}
	for key := range book.DailyApp {
		of := meter.DayKey{Line: key.Line, Day: key.Day}
		h.apps[of] = append(h.apps[of], key.App)
	}
	return h
}

// Hydrate writes all keys of a unit, whatever was there, and opens it. It is for a gate that is closed, and changes nothing where
// the unit is complete: the error is [ErrComplete].
func (m *Meter) Hydrate(ctx context.Context, unit Members, h *Hydration) error {
	return m.WritePhase(ctx, unit, h, meter.PhaseRows, "")
}

// WritePhase writes all keys of a unit, as [Meter.Hydrate] does, by a hydration whose book was made through a phase; only the last one
// opens it. What is at the phase already, or past it, is left: the error is [ErrComplete]. With an epoch, written as digits, that
// of the bucket's fence has to be the same.
func (m *Meter) WritePhase(ctx context.Context, unit Members, h *Hydration, phase meter.Phase, epoch string) error {
	w := m.writing(unit)
	for _, line := range unit.Lines {
		m.line(w, line, h)
	}
	m.family(w, unit.Family, h)
	return m.write(ctx, w, h.opened(unit), h.since, phase, epoch)
}

// writing collects what a unit is to be.
type writing struct {
	names  names
	unit   unit
	keys   []string
	args   []string
	fields []string // of the unit itself
}

func (m *Meter) writing(members Members) *writing {
	line := ""
	if members.Family == "" && len(members.Lines) > 0 {
		line = members.Lines[0]
	}
	return &writing{names: m.names, unit: unitOf(line, members.Family)}
}

// add says what is to be in a key: nothing, a text, or names of fields and their values. All of it is in SQL, so it may expire when
// its time has come; the zero time is never.
func (w *writing) add(key string, expires time.Time, content ...string) {
	w.keys = append(w.keys, key)
	w.args = append(append(w.args, strconv.Itoa(len(content)), expiry(expires)), content...)
}

// expiry writes when a key expires, as scripts take it.
func expiry(at time.Time) string {
	if at.IsZero() {
		return "0"
	}
	return number(at.UnixMilli())
}

func words(fields []meter.Field) (all []string) {
	for _, f := range fields {
		all = append(all, f.Name, f.Value)
	}
	return all
}

// line adds the keys of a line.
func (m *Meter) line(w *writing, line string, h *Hydration) {
	u, n, book, own := w.unit, w.names, h.book, h.policies[line]
	w.add(n.lineVersion(u, line), time.Time{}, number(book.LineVersions[line]))
	w.add(n.linePolicies(u, line), time.Time{}, words(own.LineFields())...)
	if stamp := stampOf(own); stamp != "" {
		w.fields = append(w.fields, policiesField(line), stamp)
	}
	for _, month := range h.months {
		key := meter.MonthKey{Owner: line, Month: month}
		left, expires := book.Individual[key], m.MonthExpiry(month)
		w.add(n.individual(u, line, month), expires, words(when(left.Granted, meter.Field{Name: fieldAmount, Value: number(left.Amount)}, meter.Field{Name: fieldQoS, Value: number(left.QoS)}))...)
		w.add(n.monthlyShared(u, line, month), expires, words(usage(book.MonthlyShared[key]))...)
	}
	for _, day := range h.days {
		key, expires := meter.DayKey{Line: line, Day: day}, m.DayExpiry(day)
		if total := book.DailyTotal[key]; total != 0 {
			w.add(n.dailyTotal(u, line, day), expires, number(total))
		} else {
			w.add(n.dailyTotal(u, line, day), expires)
		}
		var fields []meter.Field
		for _, app := range h.apps[key] {
			fields = append(fields, counters(app, book.DailyApp[meter.AppKey{Line: line, Day: day, App: app}])...)
		}
		w.add(n.dailyApp(u, line, day), expires, words(fields)...)
		w.add(n.dailyShared(u, line, day), expires, words(usage(book.DailyShared[key]))...)
	}
}

// family adds the keys of a family, if there is one.
func (m *Meter) family(w *writing, family string, h *Hydration) {
	if family == "" {
		return
	}
	w.add(w.names.familyVersion(w.unit, family), time.Time{}, number(h.book.FamilyVersions[family]))
	for _, month := range h.months {
		shared := h.book.Shared[meter.MonthKey{Owner: family, Month: month}]
		w.add(w.names.shared(w.unit, family, month), m.MonthExpiry(month), words(when(shared.Granted, meter.Field{Name: fieldAmount, Value: number(shared.Amount)}))...)
	}
}

// opened are the months that are open: the owner of the unit has its grant of them.
func (h *Hydration) opened(unit Members) (fields []string) {
	for _, month := range h.months {
		granted := h.book.Shared[meter.MonthKey{Owner: unit.Family, Month: month}].Granted
		if unit.Family == "" && len(unit.Lines) > 0 {
			granted = h.book.Individual[meter.MonthKey{Owner: unit.Lines[0], Month: month}].Granted
		}
		if granted {
			fields = append(fields, openedField(month))
		}
	}
	return fields
}

// write runs the script.
func (m *Meter) write(ctx context.Context, w *writing, opened []string, since time.Time, phase meter.Phase, epoch string) error {
	g, open := m.store.Generation(w.unit.tag), "0"
	if phase == meter.PhaseRows {
		open = "1"
	}
	keys := append([]string{
		m.names.unit(w.unit), m.names.policy(w.unit.bucket, meter.Gate), m.store.GenerationKey(w.unit.tag), m.names.fence(w.unit.bucket),
	}, w.keys...)
	args := append([]string{
		rueidis.BinaryString(g[:]), string(m.generationOf(w.unit)), number(int64(phase)), open, number(since.UnixMilli()), epoch, strconv.Itoa(len(opened)),
	}, opened...)
	args = append(append(args, w.args...), w.fields...)
	n, err := m.unit.Exec(ctx, m.client, keys, args).AsInt64()
	switch {
	case err != nil:
		return store.Indeterminate(fmt.Errorf("write the unit %s: it can be written again: %w", w.unit.tag, err))
	case n == -3:
		return fmt.Errorf("%w: the bucket of the unit %s has another generation than this process knows, or none", store.ErrLost, w.unit.tag)
	case n == -2:
		return fmt.Errorf("unit %s: %w", w.unit.tag, ErrFenced)
	case n == -1:
		return fmt.Errorf("unit %s: %w", w.unit.tag, ErrGateOpen)
	case n == 0:
		return fmt.Errorf("unit %s: %w", w.unit.tag, ErrComplete)
	}
	return nil
}
