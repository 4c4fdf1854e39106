package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Keeper does what is due from time to time: it opens months ahead, brings grants from SQL to Redis, and folds. Any number of
// processes may keep one ledger.
type Keeper struct {
	Meter     *meterredis.Meter
	Ledger    *meterledger.Ledger
	Directory *Directory
	Calendar  meter.Calendar
	Horizon   meter.Horizon
	Log       *slog.Logger // nil is nobody
}

const (
	// grantEvery and foldEvery are the pauses between two rounds.
	grantEvery = time.Second
	foldEvery  = time.Minute
	// grantBatch is how many grants are read at once.
	grantBatch = 1000
)

// Run works until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	if k.Log == nil {
		k.Log = slog.New(slog.DiscardHandler)
	}
	var folded time.Time
	for ctx.Err() == nil {
		if _, err := k.Confirm(ctx); err != nil {
			k.complain(ctx, "bring grants to Redis", err)
		}
		if time.Since(folded) > foldEvery {
			folded = time.Now()
			if _, err := k.OpenMonths(ctx); err != nil {
				k.complain(ctx, "open months", err)
			}
			if err := k.Fold(ctx); err != nil {
				k.complain(ctx, "fold", err)
			}
		}
		pause(ctx, grantEvery)
	}
	return nil
}

func (k *Keeper) complain(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		k.Log.WarnContext(ctx, "meter: "+what, "error", err)
	}
}

// OpenMonths makes the monthly grants of all months that have to be open, and returns how many it made. They are in SQL then;
// [Keeper.Confirm] brings them to Redis.
func (k *Keeper) OpenMonths(ctx context.Context) (made int64, err error) {
	now, err := k.Ledger.Now(ctx)
	if err != nil {
		return 0, err
	}
	for _, month := range k.Horizon.Months(k.Calendar, now) {
		n, err := k.Ledger.OpenMonth(ctx, month)
		made += n
		if err != nil {
			return made, err
		}
	}
	return made, nil
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

// Confirm brings to Redis what it does not have of the grants, and returns how many. Those of lines come before those of
// families, which open the month for their unit. A grant that has to wait stays for the next round.
func (k *Keeper) Confirm(ctx context.Context) (confirmed int, err error) {
	if err := k.Meter.GateOpen(ctx); err != nil {
		if errors.Is(err, meter.GateClosed) {
			return 0, nil
		}
		return 0, err
	}
	for after := ""; ; {
		grants, err := k.Ledger.UnconfirmedGrants(ctx, after, grantBatch)
		if err != nil || len(grants) == 0 {
			return confirmed, err
		}
		after = grants[len(grants)-1].ID
		slices.SortStableFunc(grants, func(a, b meterledger.GrantRow) int { return len(a.Family) - len(b.Family) })
		n, err := k.confirm(ctx, grants)
		confirmed += n
		if err != nil || len(grants) < grantBatch {
			return confirmed, err
		}
	}
}

func (k *Keeper) confirm(ctx context.Context, grants []meterledger.GrantRow) (confirmed int, err error) {
	lines := make([]string, 0, len(grants))
	for _, g := range grants {
		if g.Line != "" {
			lines = append(lines, g.Line)
		}
	}
	known, err := k.Directory.Lines(ctx, time.Now(), lines...)
	if err != nil {
		return 0, err
	}
	made := map[meter.Generation][]meterledger.Confirmation{}
	for _, g := range grants {
		done, err := k.Meter.Grant(ctx, g.Grant, known[g.Line].Family)
		if err != nil {
			k.complain(ctx, "grant "+g.ID, err)
			k.Directory.Forget(g.Line)
			continue
		}
		made[done.Generation] = append(made[done.Generation], meterledger.Confirmation{Grant: g.ID, Version: done.Version})
	}
	for generation, all := range made {
		if err := k.Ledger.ConfirmGrants(ctx, generation, all); err != nil {
			return confirmed, err
		}
		confirmed += len(all)
	}
	return confirmed, nil
}
