package meterredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
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

// ErrNotBefore is the error of adding a phase to a unit that is not as the phase before has left it: it is to be written whole.
var ErrNotBefore = errors.New("the unit is not at the phase before, with these lines")

// Hydration is what units are made of.
type Hydration struct {
	book     *meter.Book
	policies map[string]meter.PolicySet
	apps     map[meter.DayKey][]string
	used     map[string]bool // lines that have counters
	days     []meter.Day
	months   []meter.Month
	since    time.Time
	touched  *touched // nil: anything may be
}

// NewHydration returns the hydration by a book, which was made of what SQL holds and is not changed any more, and the policies
// that lines have of their own. Days and months are all those of which there may be keys. Events that happened before
// since are decided only when the done log was asked: their records are not there.
func NewHydration(book *meter.Book, policies map[string]meter.PolicySet, days []meter.Day, months []meter.Month, since time.Time) *Hydration {
	h := &Hydration{book: book, policies: policies, apps: map[meter.DayKey][]string{}, used: map[string]bool{}, days: days, months: months, since: since}
	for key := range book.DailyTotal {
		h.used[key.Line] = true
	}
	for key := range book.DailyApp {
		of := meter.DayKey{Line: key.Line, Day: key.Day}
		h.apps[of] = append(h.apps[of], key.App)
	}
	return h
}

// HasPolicies reports whether a line has policies of these versions in the hydration.
func (h *Hydration) HasPolicies(line string, set meter.PolicySet) bool {
	return stampOf(h.policies[line]) == stampOf(set)
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
	return m.write(ctx, w, h, unit, writeOptions{phase: phase, epoch: epoch, there: thereAnything})
}

// beginUnit is [Meter.WritePhase] of the first phase of a restore. A Redis that was emptied has nothing that would have to be deleted, which is most of
// what a unit can have: so what is to be there is written first, where nothing of it, nor the unit, is there. What else may be left of a
// unit whose own key is gone, verification finds.
func (m *Meter) beginUnit(ctx context.Context, unit Members, h *Hydration, epoch string) error {
	if !m.older.Load() {
		w := m.writing(unit)
		w.adding = true
		for _, line := range unit.Lines {
			m.line(w, line, h)
		}
		m.family(w, unit.Family, h)
		err := m.write(ctx, w, h, unit, writeOptions{phase: meter.PhaseHydrated, epoch: epoch, there: thereNothing})
		if !errors.Is(err, errThere) {
			return err
		}
		m.older.Store(true) // so will be others
	}
	return m.WritePhase(ctx, unit, h, meter.PhaseHydrated, epoch)
}

// AddPhase writes what a phase adds to the one before: the first all keys, the second counters, and the last what is touched, and what a line's
// policies are. The book has to have what is written, and may lack the rest. A unit that the phase before has not left with the same lines is
// not changed: the error is [ErrNotBefore].
func (m *Meter) AddPhase(ctx context.Context, unit Members, h *Hydration, phase meter.Phase, epoch string) error {
	if phase == meter.PhaseHydrated {
		return m.beginUnit(ctx, unit, h, epoch)
	}
	w := m.writing(unit)
	w.adding = true
	for _, line := range unit.Lines {
		if phase == meter.PhaseRows {
			m.ownPolicies(w, line, h)
			m.individual(w, line, h.monthsOf(line), h)
			if h.used[line] {
				m.monthlyShared(w, line, h.monthsOf(line), h)
			}
		}
		if h.used[line] {
			m.counters(w, line, h.daysOf(line), h)
		}
	}
	if phase == meter.PhaseRows && unit.Family != "" {
		m.shared(w, unit.Family, h.monthsOfFamily(unit.Family), h)
	}
	return m.write(ctx, w, h, unit, writeOptions{phase: phase, epoch: epoch, there: therePhaseBefore})
}

// writing collects what a unit is to be.
type writing struct {
	names  names
	unit   unit
	keys   []string // that are to hold something
	args   []string // what
	none   []string // keys that are not to be there, or not as they are
	fields []string // of the unit itself
	adding bool     // to what the phase before has left: what is not to be there is not there
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
	if len(content) == 0 {
		if !w.adding {
			w.none = append(w.none, key)
		}
		return
	}
	w.keys = append(w.keys, key)
	w.args = append(append(w.args, strconv.Itoa(len(content)), expiry(expires)), content...)
}

// replace is add for a key that may have fields which are not to be there any more.
func (w *writing) replace(key string, content ...string) {
	if w.adding {
		w.none = append(w.none, key)
	}
	w.add(key, time.Time{}, content...)
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

// line adds all keys of a line.
func (m *Meter) line(w *writing, line string, h *Hydration) {
	w.add(w.names.lineVersion(w.unit, line), time.Time{}, number(h.book.LineVersions[line]))
	m.ownPolicies(w, line, h)
	m.individual(w, line, h.months, h)
	m.monthlyShared(w, line, h.months, h)
	m.counters(w, line, h.days, h)
}

// ownPolicies adds the policies that a line has of its own.
func (m *Meter) ownPolicies(w *writing, line string, h *Hydration) {
	own := h.policies[line]
	w.replace(w.names.linePolicies(w.unit, line), words(own.LineFields())...)
	if stamp := stampOf(own); stamp != "" {
		w.fields = append(w.fields, policiesField(line), stamp)
	}
}

// individual adds what is left of a line's allowances.
func (m *Meter) individual(w *writing, line string, months []meter.Month, h *Hydration) {
	for _, month := range months {
		left := h.book.Individual[meter.MonthKey{Owner: line, Month: month}]
		w.add(w.names.individual(w.unit, line, month), m.MonthExpiry(month), words(when(left.Granted, meter.Field{Name: fieldAmount, Value: number(left.Amount)}, meter.Field{Name: fieldQoS, Value: number(left.QoS)}))...)
	}
}

// monthlyShared adds what a line took of its family's allowances.
func (m *Meter) monthlyShared(w *writing, line string, months []meter.Month, h *Hydration) {
	for _, month := range months {
		w.add(w.names.monthlyShared(w.unit, line, month), m.MonthExpiry(month), words(usage(h.book.MonthlyShared[meter.MonthKey{Owner: line, Month: month}]))...)
	}
}

// counters adds the keys of a line's days.
func (m *Meter) counters(w *writing, line string, days []meter.Day, h *Hydration) {
	u, n, book := w.unit, w.names, h.book
	for _, day := range days {
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
	m.shared(w, family, h.months, h)
}

// shared adds what is left of a family's allowances.
func (m *Meter) shared(w *writing, family string, months []meter.Month, h *Hydration) {
	for _, month := range months {
		left := h.book.Shared[meter.MonthKey{Owner: family, Month: month}]
		w.add(w.names.shared(w.unit, family, month), m.MonthExpiry(month), words(when(left.Granted, meter.Field{Name: fieldAmount, Value: number(left.Amount)}))...)
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

// writeOptions say how a unit is written.
type writeOptions struct {
	phase meter.Phase
	epoch string // empty: no fence is asked about
	there string // what is there already
}

// What may be there of a unit, as the script takes it.
const (
	therePhaseBefore = "0" // what the phase before has left; if it is not so: ErrNotBefore
	thereAnything    = "1"
	thereNothing     = "2" // if there is something: errThere
)

var errThere = errors.New("something of the unit is there already")

// write runs the script.
func (m *Meter) write(ctx context.Context, w *writing, h *Hydration, members Members, o writeOptions) error {
	g, opened, last := m.store.Generation(w.unit.tag), h.opened(members), "0"
	if o.phase == meter.PhaseRows {
		last = "1"
	}
	keys := slices.Concat([]string{
		m.names.unit(w.unit), m.names.policy(w.unit.bucket, meter.Gate), m.store.GenerationKey(w.unit.tag), m.names.fence(w.unit.bucket),
	}, w.keys, w.none)
	args := slices.Concat([]string{
		rueidis.BinaryString(g[:]), string(m.generationOf(w.unit)), number(int64(o.phase)), last, number(h.since.UnixMilli()), o.epoch,
		o.there, linesDigest(members.Lines), strconv.Itoa(len(w.keys)), strconv.Itoa(len(opened)),
	}, opened, w.args, w.fields)
	n, err := m.unit.Exec(ctx, m.client, keys, args).AsInt64()
	switch {
	case err != nil:
		return notWritten("write the unit "+w.unit.tag, err)
	case n == -5:
		return errThere
	case n == -4:
		return fmt.Errorf("unit %s: %w", w.unit.tag, ErrNotBefore)
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

// linesDigest tells lists of lines apart: a unit that is not complete says which it was written with.
func linesDigest(lines []string) string {
	h := fnv.New64a()
	for _, line := range slices.Sorted(slices.Values(lines)) {
		_, _ = h.Write([]byte(line + "\n")) // never fails
	}
	return strconv.FormatUint(h.Sum64(), 16)
}
