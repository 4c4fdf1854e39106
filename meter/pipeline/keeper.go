package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Keeper does what is due from time to time: it opens months ahead, brings grants from SQL to Redis, folds, and removes old rows. Any
// number of processes may keep one ledger.
type Keeper struct {
	Meter     *meterredis.Meter
	Ledger    *meterledger.Ledger
	Directory *Directory
	Calendar  meter.Calendar
	Horizon   meter.Horizon
	// KeepRows is for how long rows of the done log are kept that are folded: 0 is for ever. It is never shorter than events are remembered
	// ([meter.Horizon.Remembered]): a row says that its event was counted.
	KeepRows time.Duration
	Log      *slog.Logger // nil is nobody

	news news
}

const (
	// grantEvery, foldEvery and purgeEvery are the pauses between two rounds.
	grantEvery = time.Second
	foldEvery  = time.Minute
	purgeEvery = time.Hour
)

// Run works until ctx ends. It returns an error if the ledger has other terms than this process works by, which must end then.
func (k *Keeper) Run(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer end()
	if k.KeepRows > 0 {
		group.Go(func() { k.purge(ctx) })
	}
	var folded time.Time
	for ctx.Err() == nil {
		err := k.Ledger.CheckTerms(ctx, k.terms())
		if errors.Is(err, meterledger.ErrCalendar) || errors.Is(err, meterledger.ErrHorizon) {
			return err
		}
		if _, err := k.Confirm(ctx); err != nil {
			k.complain(ctx, "bring grants to Redis", err)
		}
		if time.Since(folded) > foldEvery {
			folded = time.Now()
			if _, err := k.OpenMonths(ctx); err != nil {
				k.complain(ctx, "open months", err)
			}
			if err := k.Spread(ctx); err != nil {
				k.complain(ctx, "write policies", err)
			}
			if err := k.Fold(ctx); err != nil {
				k.complain(ctx, "fold", err)
			}
		}
		pause(ctx, grantEvery)
	}
	return nil
}

// purge removes old rows until ctx ends: beside the rest, because there may be very many the first time.
func (k *Keeper) purge(ctx context.Context) {
	for ctx.Err() == nil {
		err := k.Ledger.CheckTerms(ctx, k.terms()) // by other terms it would be the wrong rows
		var now time.Time
		if err == nil {
			now, err = k.Ledger.Now(ctx)
		}
		if err == nil {
			_, err = k.Purge(ctx, now)
		}
		if err != nil {
			k.complain(ctx, "remove old rows", err)
		}
		pause(ctx, purgeEvery)
	}
}

func (k *Keeper) complain(ctx context.Context, what string, err error) {
	k.news.tell(ctx, k.Log, what, err)
}

// OpenMonths makes the monthly grants of all months that have to be open, and returns how many it made. They are in SQL then;
// [Keeper.Confirm] brings them to Redis.
func (k *Keeper) OpenMonths(ctx context.Context) (made int64, err error) {
	return openMonths(ctx, k.Ledger, k.terms())
}

func (k *Keeper) terms() meterledger.Terms {
	return meterledger.Terms{Calendar: k.Calendar, Horizon: k.Horizon}
}

func openMonths(ctx context.Context, ledger *meterledger.Ledger, terms meterledger.Terms) (made int64, err error) {
	if err := ledger.KeepTerms(ctx, terms); err != nil {
		return 0, err
	}
	now, err := ledger.Now(ctx)
	if err != nil {
		return 0, err
	}
	for _, month := range terms.Horizon.Months(terms.Calendar, now) {
		n, err := ledger.OpenMonth(ctx, month)
		made += n
		if err != nil {
			return made, err
		}
	}
	return made, nil
}

// Spread writes the global policies into every bucket that does not have their current versions: whoever changed one may have
// stopped between SQL and Redis. The gate is left to those who open and close it.
func (k *Keeper) Spread(ctx context.Context) error {
	policies, err := k.Ledger.Policies(ctx, nil)
	if err != nil || len(policies.Global.Missing()) > 0 {
		return err // nothing was ever hydrated
	}
	if has, err := k.Meter.HasPolicies(ctx, policies.Global); err != nil || has {
		return err
	}
	for _, id := range meter.AllPolicies() {
		if id == meter.Gate {
			continue
		}
		if err := k.Meter.PutPolicy(ctx, policies.Global.Get(id)); err != nil {
			return err
		}
	}
	return nil
}

// Fold takes in the rows of all days that are over. Late ones are taken in by the next round.
func (k *Keeper) Fold(ctx context.Context) error {
	now, err := k.Ledger.Now(ctx)
	if err != nil {
		return err
	}
	_, err = k.Ledger.Fold(ctx, meterledger.FoldOptions{Through: k.Calendar.Day(now).Previous()})
	if errors.Is(err, meterledger.ErrHeld) {
		return nil // a restore is under way; there is time
	}
	return err
}

// Purge removes the rows of the done log that are folded and were kept long enough by now, and returns how many. Totals and snapshots stay.
func (k *Keeper) Purge(ctx context.Context, now time.Time) (removed int64, err error) {
	if k.KeepRows == 0 {
		return 0, nil
	}
	since := now.Add(-max(k.KeepRows, k.Horizon.Remembered()))
	removed, err = k.Ledger.PurgeDone(ctx, meterledger.Purge{Through: k.Calendar.Day(since).Previous(), RecordedBefore: since})
	if errors.Is(err, meterledger.ErrHeld) {
		return removed, nil // a restore is under way; there is time
	}
	return removed, err
}
