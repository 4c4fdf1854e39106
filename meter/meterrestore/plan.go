package meterrestore

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"strconv"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// Plan is a [restore.Plan]. It may be used by several goroutines.
type Plan struct {
	Options
	opened opened
	seed   maphash.Seed // of the sample
}

// Options are what a plan works with.
type Options struct {
	Ledger   *meterledger.Ledger
	Redis    string // DSN
	Calendar meter.Calendar
	Horizon  meter.Horizon
	Who, Why string
	// Longest is the longest time that a worker takes from deciding an event to its row; 0 is 10 s. Draining waits for it, and a
	// second more.
	Longest time.Duration
	// Patience is how long verification outside of a session waits for a unit of which something is under way; 0 is 10 s.
	Patience time.Duration
	// Sample is which part of all ranges of units verification outside of a session looks at, chosen at random; 0 is all. A sample leaves out
	// the sweep for keys that nobody expects.
	Sample float64
	// TakeOver restores also a Redis whose generation the ledger has never had.
	TakeOver bool
	Log      *slog.Logger // nil is nobody
}

// New returns the plan. The ledger stays the caller's; the plan is closed by the caller.
func New(o Options) *Plan {
	if o.Longest == 0 {
		o.Longest = 10 * time.Second
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	return &Plan{Options: o, seed: maphash.MakeSeed()}
}

var _ restore.Plan = (*Plan)(nil)

// name is the plan's.
const name = "meter"

// unitsInTarget is how many units are written for one claim.
const unitsInTarget = 200

// phases are those of a unit, in their order.
func phases() []meter.Phase {
	return []meter.Phase{meter.PhaseHydrated, meter.PhaseTotals, meter.PhaseRows}
}

// Describe implements [restore.Plan].
func (p *Plan) Describe() restore.Description {
	configuration := fmt.Sprintf("zone %v, months from day %d, retention %v, tolerance %v", p.Calendar.Zone(), p.Calendar.Anchor(), p.Horizon.Retention, p.Horizon.Tolerance)
	return restore.Description{
		Name: name, Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(configuration))), Configuration: configuration,
		Phases: []string{"hydrate", "daily totals", "done log"}, Retention: p.Horizon.Retention,
	}
}

// Generation implements [restore.Plan].
func (p *Plan) Generation(ctx context.Context) (generation string, err error) {
	defer refused(&err)
	m, err := p.meter(ctx)
	if lost(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	g, err := m.Reread(ctx)
	if lost(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	believed, err := p.Ledger.Generation(ctx)
	if err != nil || believed != g {
		return "", err
	}
	return string(g), nil
}

// CloseGate implements [restore.Plan]. In SQL the gate is the truth, and folds are held there. A Redis that cannot be opened has no
// gate that could be open.
func (p *Plan) CloseGate(ctx context.Context, fence restore.Fence) (err error) {
	defer refused(&err)
	if err := p.hold(ctx, fence); err != nil {
		return err
	}
	gate, err := p.putGate(ctx, fence, false)
	if err != nil {
		return err
	}
	m, err := p.meter(ctx)
	if lost(err) {
		return nil
	}
	if err == nil {
		err = p.own(ctx)
	}
	if err == nil {
		err = m.PutPolicy(ctx, gate)
	}
	if lost(err) {
		return nil
	}
	return err
}

func sessionOf(fence restore.Fence) string {
	return name + "-" + strconv.FormatInt(fence.Session, 10)
}

// hold holds folds, of whoever is not late.
func (p *Plan) hold(ctx context.Context, fence restore.Fence) error {
	return fenced(p.Ledger.HoldFolds(ctx, sessionOf(fence), fence.Epoch, "restore"), meterledger.ErrLate)
}

func (p *Plan) release(ctx context.Context, fence restore.Fence) error {
	return fenced(p.Ledger.ReleaseFolds(ctx, sessionOf(fence), fence.Epoch), meterledger.ErrLate)
}

// putGate writes the gate in SQL, if it is not so already, and returns it. A late one in Redis has an older version.
func (p *Plan) putGate(ctx context.Context, fence restore.Fence, open bool) (meter.Policy, error) {
	gate, err := p.Ledger.PutGate(ctx, fence.Epoch, open, p.Who)
	return gate, fenced(err, meterledger.ErrLate)
}

// Drain implements [restore.Plan]. What is decided and not recorded when the generation changes is refused by the ledger and decided
// again, so waiting only saves work. Meanwhile room is made.
func (p *Plan) Drain(ctx context.Context, _ restore.Fence) error {
	drained, cancel := context.WithTimeout(ctx, p.Longest+time.Second)
	defer cancel()
	p.makeRoom(drained)
	<-drained.Done()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Renew implements [restore.Plan].
func (p *Plan) Renew(ctx context.Context, fence restore.Fence) (err error) {
	defer refused(&err)
	if err := p.hold(ctx, fence); err != nil {
		return err
	}
	if err := p.own(ctx); err != nil {
		return err
	}
	seen, err := p.Ledger.Generation(ctx)
	if err != nil {
		return err
	}
	g := meter.Generation(fence.Generation)
	if seen != g {
		if err := p.Ledger.NewGeneration(ctx, seen, g, p.Who, p.Why); err != nil {
			return fenced(err, meterledger.ErrConflict)
		}
	}
	p.forget()
	if err := meterredis.Renew(ctx, p.Redis, g, p.Who, p.Why, p.Log); err != nil {
		return err
	}
	return p.policies(ctx, fence)
}

// fenced translates what says that somebody else restores by now.
func fenced(err error, late ...error) error {
	for _, l := range late {
		if errors.Is(err, l) {
			return fmt.Errorf("%w: %w", restore.ErrFenced, err)
		}
	}
	return err
}

// policies writes the global policies into every bucket, with the gate, which is closed: also if somebody has opened it in SQL since.
func (p *Plan) policies(ctx context.Context, fence restore.Fence) error {
	if _, err := p.putGate(ctx, fence, false); err != nil {
		return err
	}
	m, err := p.meter(ctx)
	if err != nil {
		return err
	}
	policies, err := p.Ledger.Policies(ctx, nil)
	if err != nil {
		return err
	}
	return m.ReplacePolicies(ctx, policies.Global)
}

// WriteFence implements [restore.Plan]. The gate and the folds are in SQL, which has one, too.
func (p *Plan) WriteFence(ctx context.Context, fence restore.Fence) (err error) {
	defer refused(&err)
	m, err := p.meterOf(ctx, fence)
	if err != nil {
		return err
	}
	if err := p.Ledger.Fence(ctx, fence.Epoch); err != nil {
		return fenced(err, meterledger.ErrLate)
	}
	return fenced(m.WriteFence(ctx, fence.Epoch), meterredis.ErrFenced, store.ErrLost)
}

// CleanUp implements [restore.Plan]: nothing was left behind.
func (p *Plan) CleanUp(context.Context, restore.Fence) error { return nil }

// OpenGate implements [restore.Plan].
func (p *Plan) OpenGate(ctx context.Context, fence restore.Fence) (err error) {
	defer refused(&err)
	m, err := p.meterOf(ctx, fence)
	if err != nil {
		return err
	}
	gate, err := p.putGate(ctx, fence, true)
	if err == nil {
		err = m.PutPolicy(ctx, gate)
	}
	if err != nil {
		return err
	}
	return p.release(ctx, fence)
}

// Abandon implements [restore.Plan].
func (p *Plan) Abandon(ctx context.Context, fence restore.Fence) error {
	return p.release(ctx, fence)
}

func (p *Plan) read(ctx context.Context, r meterledger.Range, now time.Time) (meterledger.Holdings, error) {
	return p.Ledger.Read(ctx, r, pipeline.Reach(p.Calendar, p.Horizon, now))
}

// Apply implements [restore.Plan].
func (p *Plan) Apply(ctx context.Context, phase int, target restore.Target, fence restore.Fence) (done restore.Done, err error) {
	defer refused(&err)
	m, err := p.meterOf(ctx, fence)
	if err != nil {
		return done, err
	}
	now, err := p.Ledger.Now(ctx)
	if err != nil {
		return done, err
	}
	g := meter.Generation(fence.Generation)
	w := &phaseWriter{Plan: p, meter: m, through: phases()[phase], now: now, epoch: strconv.FormatInt(fence.Epoch, 10), believed: g}
	written, err := w.write(ctx, rangeOf(target))
	if err == nil && w.through == meter.PhaseRows {
		err = p.confirm(ctx, g, written.grants)
	}
	return written.Done, fenced(err, meterredis.ErrFenced, store.ErrLost, meterledger.ErrOldGeneration)
}

// confirm notes that grants are in Redis: the balances were made of them.
func (p *Plan) confirm(ctx context.Context, g meter.Generation, grants []meterledger.GrantRow) error {
	var counted []meterledger.Confirmation
	for _, grant := range grants {
		if !grant.Confirmed() {
			counted = append(counted, meterledger.Confirmation{Grant: grant.ID})
		}
	}
	if len(counted) == 0 {
		return nil
	}
	return p.Ledger.ConfirmGrants(ctx, g, counted)
}
