package meterredis

import (
	_ "embed"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store/redisstore"
)

//go:embed script/deduct.lua
var deductLua string

//go:embed script/deduct_change.lua
var deductChangeLua string

//go:embed script/policy.lua
var policyLua string

//go:embed script/line_policies.lua
var linePoliciesLua string

// deductReads is how many of the first keys of a deduction are read together with its record.
const deductReads = 2

// Options are how a meter decides.
type Options struct {
	Calendar meter.Calendar
	Horizon  meter.Horizon
	// Prefix is that of the meter's keys, beside the store's own: empty, but for a drill.
	Prefix string
}

// Meter decides events in Redis. It may be used by several goroutines, and several processes share one Redis.
type Meter struct {
	store    *redisstore.Store
	close    func() error // of a store that is the meter's
	client   rueidis.Client
	names    names
	calendar meter.Calendar
	horizon  meter.Horizon
	deduct   *redisstore.Effect
	grant    *redisstore.Effect
	policy   *rueidis.Lua
	linePuts *rueidis.Lua // of policies of its own
	unit     *rueidis.Lua
	fence    *rueidis.Lua
	admit    *rueidis.Lua
	correct  *rueidis.Lua
	moves    moves
	policies policyCache
	gate     gate
	older    atomic.Bool // a unit that was to be written for the first time was there already
	timeLeft bool        // the server says how long a key stays, and not until when
}

// New returns the meter on a store, which stays the caller's.
func New(store *redisstore.Store, options Options) (*Meter, error) {
	if err := options.Horizon.Validate(); err != nil {
		return nil, fmt.Errorf("the meter's horizon: %w", err)
	}
	deduct, err := redisstore.NewDecidedEffect("deduct", deductReads, deductLua, deductChangeLua)
	if err != nil {
		return nil, err
	}
	grant, err := redisstore.NewEffect("grant", grantLua)
	if err != nil {
		return nil, err
	}
	return &Meter{
		gate: gate{turn: make(chan struct{}, 1)}, timeLeft: store.Older(), store: store, client: store.Client(), names: names{options.Prefix}, calendar: options.Calendar, horizon: options.Horizon,
		deduct: deduct.Held(), grant: grant.Held(), policy: rueidis.NewLuaScript(policyLua), linePuts: rueidis.NewLuaScript(linePoliciesLua), unit: rueidis.NewLuaScript(unitLua), fence: rueidis.NewLuaScript(fenceLua), moves: newMoves(), admit: rueidis.NewLuaScript(admitLua), correct: rueidis.NewLuaScript(correctLua),
	}, nil
}

// Due returns the months whose allowances have to be here.
func (m *Meter) Due(now time.Time) meter.Span { return m.horizon.Due(m.calendar, now) }

// Day returns the day that an instant is counted on.
func (m *Meter) Day(at time.Time) meter.Day { return m.calendar.Day(at) }

// Month returns the month that an instant is counted in.
func (m *Meter) Month(at time.Time) meter.Month { return m.calendar.Month(at) }

// generationOf is that of a unit's bucket, empty for none.
func (m *Meter) generationOf(u unit) meter.Generation {
	g := m.store.Generation(u.tag)
	if g == [len(g)]byte{} {
		return ""
	}
	return meter.Generation(hex.EncodeToString(g[:]))
}
