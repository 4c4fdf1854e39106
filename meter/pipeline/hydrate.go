package pipeline

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Hydration says how the state in Redis is made from the ledger.
type Hydration struct {
	Ledger   *meterledger.Ledger
	Redis    string // DSN
	Log      *slog.Logger
	Calendar meter.Calendar
	Horizon  meter.Horizon
	Who, Why string
	// Renew hydrates also a Redis that is complete and open, and gives the ledger the Horizon where it has another one.
	Renew bool
	// Progress is told how many units are done, and of how many; it may be nil.
	Progress func(done, units int)
}

// ErrHydrated is the error of hydrating a Redis that is complete and open: nothing was done.
var ErrHydrated = errors.New("already hydrated: the gate is open and Redis has the ledger's generation")

// Hydrated says what a hydration has done.
type Hydrated struct {
	Generation meter.Generation
	Units      int
	Grants     int // that are known to be in Redis by it
}

const (
	unitsInRange = 200
	rangesAtOnce = 4
)

// Hydrate closes the gate, opens the months that are due, begins a new generation in SQL and in Redis, writes all units as the
// ledger says, and opens the gate. What was in Redis before counts for nothing, and so does what a hydration has written that stopped.
func Hydrate(ctx context.Context, h Hydration) (done Hydrated, err error) {
	terms := meterledger.Terms{Calendar: h.Calendar, Horizon: h.Horizon}
	if err := h.Ledger.CheckTerms(ctx, terms); err != nil && !(h.Renew && errors.Is(err, meterledger.ErrHorizon)) {
		return done, err
	}
	if err := h.closeGate(ctx); err != nil {
		return done, err
	}
	if h.Renew {
		if err := h.Ledger.RenewTerms(ctx, terms); err != nil {
			return done, err
		}
	}
	if _, err := openMonths(ctx, h.Ledger, terms); err != nil {
		return done, err
	}
	if done.Generation, err = h.begin(ctx); err != nil {
		return done, err
	}
	m, err := h.open(ctx)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := h.policies(ctx, m); err != nil {
		return done, err
	}
	if err := h.units(ctx, m, &done); err != nil {
		return done, err
	}
	return done, h.openGate(ctx, m, done.Generation)
}

// closeGate closes the gate in SQL, unless Redis is complete and open, or a restore is under way.
func (h Hydration) closeGate(ctx context.Context) error {
	session, err := h.Ledger.Holder(ctx)
	if err != nil {
		return err
	}
	if session != "" {
		return fmt.Errorf("%w: session %q is a restore: it fills Redis itself, and opens the gate when all is verified", meterledger.ErrHeld, session)
	}
	policies, err := h.Ledger.Policies(ctx, nil)
	if err != nil {
		return err
	}
	for _, id := range meter.AllPolicies() {
		if id != meter.Gate && policies.Global.Get(id).Version() == 0 {
			if _, err := h.Ledger.PutPolicy(ctx, "", id, 0, nil, h.Who); err != nil {
				return fmt.Errorf("make policy %v: %w", id, err)
			}
		}
	}
	if !h.Renew {
		if intact, err := h.intact(ctx, policies); err != nil || intact {
			return cmp.Or(err, ErrHydrated)
		}
	}
	return h.putGate(ctx, policies.Global.Get(meter.Gate), "no")
}

// intact reports whether Redis decides events in the ledger's generation, or was to be opened by a hydration that wrote all units, and did not come
// to all buckets: those are opened.
func (h Hydration) intact(ctx context.Context, policies meterledger.Policies) (bool, error) {
	g, err := h.Ledger.Generation(ctx)
	if err != nil || g == "" || policies.Global.Get(meter.Gate).Text() != "open=yes" {
		return false, err
	}
	m, err := h.open(ctx)
	if err != nil {
		return false, nil //nolint:nilerr // it was lost, and is hydrated
	}
	defer m.Close()
	if m.Generation() != g {
		return false, nil
	}
	return true, m.PutPolicy(ctx, policies.Global.Get(meter.Gate))
}

func (h Hydration) putGate(ctx context.Context, seen meter.Policy, open string) error {
	_, err := h.Ledger.PutPolicy(ctx, "", meter.Gate, seen.Version(), []meter.Field{{Name: "open", Value: open}}, h.Who)
	return err
}

// begin begins a generation, in SQL and then in Redis. A hydration that stopped is not gone on with: what it wrote may be older
// than a grant that was added since.
func (h Hydration) begin(ctx context.Context) (meter.Generation, error) {
	seen, err := h.Ledger.Generation(ctx)
	if err != nil {
		return "", err
	}
	g := newGeneration()
	if err := h.Ledger.NewGeneration(ctx, seen, g, h.Who, h.Why); err != nil {
		return "", err
	}
	return g, meterredis.Renew(ctx, h.Redis, g, h.Who, h.Why, h.Log)
}

func newGeneration() meter.Generation {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:]) // never fails
	return meter.Generation(hex.EncodeToString(bytes[:]))
}

func (h Hydration) open(ctx context.Context) (*meterredis.Meter, error) {
	return meterredis.Open(ctx, h.Redis, meterredis.Options{Calendar: h.Calendar, Horizon: h.Horizon}, h.Log)
}

// policies writes the global ones into every bucket, the gate's among them, which is closed: once more in SQL, because a hydration that this
// one has overtaken may have opened it since. Those that were there count for nothing, also where their versions are higher than those of SQL.
func (h Hydration) policies(ctx context.Context, m *meterredis.Meter) error {
	policies, err := h.Ledger.Policies(ctx, nil)
	if err == nil {
		err = h.putGate(ctx, policies.Global.Get(meter.Gate), "no")
	}
	if err == nil {
		policies, err = h.Ledger.Policies(ctx, nil)
	}
	if err != nil {
		return err
	}
	return m.ReplacePolicies(ctx, policies.Global)
}

// openGate opens the gate, in SQL and then in every bucket, of the generation that was hydrated. A hydration that has begun another one writes
// the gate again after that, so that its version is another one than was read here before.
func (h Hydration) openGate(ctx context.Context, m *meterredis.Meter, g meter.Generation) error {
	policies, err := h.Ledger.Policies(ctx, nil)
	if err != nil {
		return err
	}
	switch believed, err := h.Ledger.Generation(ctx); {
	case err != nil:
		return err
	case believed != g:
		return fmt.Errorf("%w: another hydration or a restore has begun generation %q meanwhile: it opens the gate", meterledger.ErrConflict, believed)
	}
	if err := h.putGate(ctx, policies.Global.Get(meter.Gate), "yes"); err != nil {
		return err
	}
	if policies, err = h.Ledger.Policies(ctx, nil); err != nil {
		return err
	}
	return m.PutPolicy(ctx, policies.Global.Get(meter.Gate))
}

// units writes all units, some ranges at once.
func (h Hydration) units(ctx context.Context, m *meterredis.Meter, done *Hydrated) error {
	now, err := h.Ledger.Now(ctx)
	if err != nil {
		return err
	}
	ranges, err := h.Ledger.Ranges(ctx, unitsInRange)
	if err != nil {
		return err
	}
	total := 0
	for _, r := range ranges {
		total += r.Units
	}
	results := make(chan Hydrated)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rangesAtOnce)
	var failure error
	go func() {
		for _, r := range ranges {
			group.Go(func() error {
				part, err := h.hydrateRange(ctx, m, r, now)
				results <- part
				return err
			})
		}
		failure = group.Wait()
		close(results)
	}()
	for part := range results {
		done.Units += part.Units
		done.Grants += part.Grants
		if h.Progress != nil {
			h.Progress(done.Units, total)
		}
	}
	return failure
}

func (h Hydration) hydrateRange(ctx context.Context, m *meterredis.Meter, r meterledger.Range, now time.Time) (done Hydrated, err error) {
	held, err := h.Ledger.Read(ctx, r, Reach(h.Calendar, h.Horizon, now))
	if err != nil {
		return done, err
	}
	return h.write(ctx, m, held, now)
}

// write writes units as they were read.
func (h Hydration) write(ctx context.Context, m *meterredis.Meter, held meterledger.Holdings, now time.Time) (done Hydrated, err error) {
	book, err := meter.Rebuild(held.Source)
	if err != nil {
		return done, fmt.Errorf("units from %q: %w", held.Range.From, err)
	}
	since := now.Add(h.Horizon.Tolerance)
	hydration := meterredis.NewHydration(book, held.Policies.Lines, h.Horizon.Days(h.Calendar, now), h.Horizon.Months(h.Calendar, now), since)
	for _, unit := range UnitsOf(held) {
		if err := m.Hydrate(ctx, unit, hydration); err != nil {
			return done, err
		}
		done.Units++
	}
	if err := putChanged(ctx, h.Ledger, m, held.Source.Members, hydration); err != nil {
		return done, err
	}
	counts, counted := meter.Counted(held.Source.Grants), []meterledger.Confirmation(nil)
	for _, g := range held.Grants {
		if !g.Confirmed() && counts(g.Grant) {
			counted = append(counted, meterledger.Confirmation{Grant: g.ID})
		}
	}
	if len(counted) > 0 {
		done.Grants = len(counted)
		err = h.Ledger.ConfirmGrants(ctx, held.Source.Generation, counted)
	}
	return done, err
}

// Reach is how much of the ledger is in Redis at a time: of these days and months there may be keys that events change.
func Reach(c meter.Calendar, h meter.Horizon, now time.Time) meterledger.Horizon {
	return meterledger.Horizon{Months: h.Due(c, now), Day: h.Days(c, now)[0]}
}

// UnitsOf are the units of what was read.
func UnitsOf(held meterledger.Holdings) (units []meterredis.Members) {
	families := map[string][]string{}
	for _, f := range held.Families {
		families[f] = nil
	}
	for line, family := range held.Source.Members {
		if family == "" {
			units = append(units, meterredis.Members{Lines: []string{line}})
		} else {
			families[family] = append(families[family], line)
		}
	}
	for family, lines := range families {
		slices.Sort(lines)
		units = append(units, meterredis.Members{Family: family, Lines: lines})
	}
	return units
}
