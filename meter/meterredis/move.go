package meterredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

//go:embed script/open.lua
var openLua string

//go:embed script/arrive.lua
var arriveLua string

//go:embed script/depart.lua
var departLua string

// moves are the scripts of a line's move to another unit.
type moves struct{ open, arrive, depart *rueidis.Lua }

func newMoves() moves {
	return moves{rueidis.NewLuaScript(openLua), rueidis.NewLuaScript(arriveLua), rueidis.NewLuaScript(departLua)}
}

// ErrUnitClosed: the unit is closed already, because another line of it moves, or because it is in quarantine.
var ErrUnitClosed = errors.New("the unit is closed")

// OpenUnit closes the unit that a line is in, because the line moves, and opens it again: while it is closed its events wait. One that
// is closed for another reason stays closed, and is [ErrUnitClosed] for who would close it. A unit that is not there in this generation
// decides nothing anyway, and is left.
func (m *Meter) OpenUnit(ctx context.Context, line, family string, open bool) error {
	u := unitOf(line, family)
	g := m.store.Generation(u.tag)
	text := "0"
	if open {
		text = "1"
	}
	keys := []string{m.names.unit(u), m.store.GenerationKey(u.tag)}
	n, err := m.moves.open.Exec(ctx, m.client, keys, []string{rueidis.BinaryString(g[:]), string(m.generationOf(u)), text, line}).AsInt64()
	if err == nil && n == -4 {
		return fmt.Errorf("%w: unit %s: another line of it moves, whose move has to be ended first, by the same move again, or it is in quarantine", ErrUnitClosed, u.tag)
	}
	return moved(u, "open or close it again", n, err)
}

// moved translates the reply of a script of a move.
func moved(u unit, next string, n int64, err error) error {
	switch {
	case err != nil:
		return failed(fmt.Sprintf("unit %s: %s", u.tag, next), err)
	case n == -3:
		return fmt.Errorf("%w: the bucket of the unit %s has another generation than this process knows, or none", store.ErrLost, u.tag)
	case n == -2:
		return fmt.Errorf("unit %s: %w", u.tag, ErrMovedOn)
	case n == -1:
		return &meter.Refusal{Reason: meter.GateClosed, Detail: "no line moves until the gate is open"}
	}
	return nil
}

// Step is a step of a line's move.
type Step struct {
	Line string
	// Number counts the moves of the line. A step of a move after which the line was moved again is refused with [ErrMovedOn].
	Number int
}

// ErrMovedOn is the error of a step of a move that comes too late: nothing was changed.
var ErrMovedOn = errors.New("the line has moved on")

// Arrive writes the keys of a line into the unit of the family that it is in now, by a hydration whose book has the line's
// version. A line that is there is left: its move has come so far before, and events are decided there since. The unit of a line in no family
// is made; so is that of a family whose other lines are not there yet.
func (m *Meter) Arrive(ctx context.Context, step Step, family string, h *Hydration) error {
	members := Members{Family: family, Lines: []string{step.Line}}
	w := m.writing(members)
	m.line(w, step.Line, h)
	u := w.unit
	g := m.store.Generation(u.tag)
	state, err := m.unitGeneration(ctx, u)
	if err != nil {
		return err
	}
	create, opened := "", []string(nil)
	if family == "" { // a family opens its months by its own grants
		opened = h.opened(members)
	}
	if state != m.generationOf(u) {
		create = "make"
		if family != "" { // nobody was granted anything in it yet
			w.add(m.names.familyVersion(u, family), time.Time{}, "0")
		}
	}
	keys := slices.Concat([]string{m.names.unit(u), m.store.GenerationKey(u.tag), m.names.policy(u.bucket, meter.Gate)}, w.keys, w.none)
	args := slices.Concat([]string{rueidis.BinaryString(g[:]), string(m.generationOf(u)), number(h.since.UnixMilli()), create, movesField(step.Line), strconv.Itoa(step.Number), strconv.Itoa(len(opened))}, opened,
		[]string{strconv.Itoa(len(w.keys))}, w.args, w.fields)
	n, err := m.moves.arrive.Exec(ctx, m.client, keys, args).AsInt64()
	switch {
	case err == nil && n == -4:
		return m.Arrive(ctx, step, family, h) // into the unit that is there now
	case err == nil && n == 0:
		return &meter.Refusal{Reason: meter.UnitNotHydrated, Detail: fmt.Sprintf("the unit %s is not complete: hydrate or restore it, then move the line again", u.tag)}
	}
	return moved(u, "move the line again", n, err)
}

func (m *Meter) unitGeneration(ctx context.Context, u unit) (meter.Generation, error) {
	text, err := m.client.Do(ctx, m.client.B().Hget().Key(m.names.unit(u)).Field(fieldGeneration).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return "", store.Unavailable(fmt.Errorf("read the unit %s: %w", u.tag, err))
	}
	return meter.Generation(text), nil
}

// NotHere is judged of a line that has no keys in a unit, and to whose events the unit is to say that it has moved.
const NotHere int64 = -1

// Depart deletes the keys of a line in a unit that it has left, and leaves a mark there: events that are still sent to it are told that the
// line has moved. It has gone unless its version is another one by now than was judged.
func (m *Meter) Depart(ctx context.Context, step Step, family string, version int64, days []meter.Day, months []meter.Month) (gone bool, err error) {
	line, u := step.Line, unitOf(step.Line, family)
	g := m.store.Generation(u.tag)
	keys := []string{m.names.unit(u), m.store.GenerationKey(u.tag), m.names.policy(u.bucket, meter.Gate), m.names.lineVersion(u, line), m.names.linePolicies(u, line)}
	for _, month := range months {
		keys = append(keys, m.names.individual(u, line, month), m.names.monthlyShared(u, line, month))
	}
	for _, d := range days {
		keys = append(keys, m.names.dailyTotal(u, line, d), m.names.dailyApp(u, line, d), m.names.dailyShared(u, line, d))
	}
	judged := ""
	if version != NotHere {
		judged = number(version)
	}
	args := []string{rueidis.BinaryString(g[:]), judged, policiesField(line), movesField(line), strconv.Itoa(step.Number)}
	n, err := m.moves.depart.Exec(ctx, m.client, keys, args).AsInt64()
	return n == 1, moved(u, "move the line again", n, err)
}

// LineVersion returns how many changes Redis has made to a line in this generation, and whether it knows the line there. Units of one bucket share the
// key: before a line has left one of them for another, it is known in both.
func (m *Meter) LineVersion(ctx context.Context, line, family string) (version int64, known bool, err error) {
	version, moves, known, err := m.lineIn(ctx, line, unitOf(line, family))
	return version, known && moves >= 0, err
}

// Arrived reports whether a line is in the unit of a family, and came there by this step.
func (m *Meter) Arrived(ctx context.Context, step Step, family string) (bool, error) {
	_, moves, known, err := m.lineIn(ctx, step.Line, unitOf(step.Line, family))
	return known && moves >= int64(step.Number), err
}

// lineIn reads the version of a line in the bucket of a unit, and the number of its last move that the unit has noted, below zero if the
// line has left it.
func (m *Meter) lineIn(ctx context.Context, line string, u unit) (version, moves int64, known bool, err error) {
	replies := m.client.DoMulti(ctx, m.client.B().Get().Key(m.names.lineVersion(u, line)).Build(), m.client.B().Hget().Key(m.names.unit(u)).Field(movesField(line)).Build())
	var texts [2]string
	for i, reply := range replies {
		if texts[i], err = reply.ToString(); err != nil && !rueidis.IsRedisNil(err) {
			return 0, 0, false, store.Unavailable(fmt.Errorf("read the version of line %s: %w", line, err))
		}
	}
	if texts[1] != "" {
		if moves, err = strconv.ParseInt(texts[1], 10, 64); err != nil {
			return 0, 0, false, fmt.Errorf("unit %s: field %s: %w", u.tag, movesField(line), err)
		}
	}
	if texts[0] == "" || texts[0] == versionMoved {
		return 0, moves, false, nil
	}
	version, err = strconv.ParseInt(texts[0], 10, 64)
	return version, moves, true, err
}
