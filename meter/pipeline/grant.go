package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

const (
	// grantBatch is how many grants are read at once, and grantsAtOnce how many are under way.
	grantBatch   = 1000
	grantsAtOnce = 32
)

// turn is when a grant has its turn.
type turn uint8

const (
	ofLines    turn = iota // monthly grants of lines come first,
	ofFamilies             // then those of families, which open the month for their unit,
	onTop                  // then what comes on top of them
	turns
)

func turnOf(g meter.Grant) turn {
	switch {
	case g.Kind == meter.TopUp:
		return onTop
	case g.Family != "":
		return ofFamilies
	}
	return ofLines
}

// Confirm brings to Redis what it does not have of the grants, and returns how many. A family one of whose lines has to wait for its
// monthly grant waits too. A grant that has to wait stays for the next round, and one of a month that is not due until it is.
func (k *Keeper) Confirm(ctx context.Context) (confirmed int, err error) {
	believed, err := k.believe(ctx)
	if err != nil {
		if errors.Is(err, meter.GateClosed) {
			return 0, nil
		}
		return 0, err
	}
	now, err := k.Ledger.Now(ctx)
	if err != nil {
		return 0, err
	}
	for _, month := range k.Horizon.Months(k.Calendar, now) {
		late := map[string]bool{} // families that wait
		for t := range turns {
			waiting, n, err := k.confirmTurn(ctx, believed, month, t, late)
			confirmed += n
			if err != nil {
				return confirmed, err
			}
			if !waiting {
				break // as almost always
			}
		}
	}
	return confirmed, nil
}

// confirmTurn makes the grants of a month that have their turn. It reports whether there were any, of whatever turn.
func (k *Keeper) confirmTurn(ctx context.Context, believed meter.Generation, month meter.Month, t turn, late map[string]bool) (waiting bool, confirmed int, err error) {
	for after, more := "", true; more; {
		grants, err := k.Ledger.UnconfirmedGrants(ctx, month, after, grantBatch)
		if err != nil || len(grants) == 0 {
			return waiting, confirmed, err
		}
		waiting, after, more = true, grants[len(grants)-1].ID, len(grants) == grantBatch
		grants = slices.DeleteFunc(grants, func(g meterledger.GrantRow) bool { return turnOf(g.Grant) != t })
		n, err := k.confirm(ctx, believed, grants, late)
		confirmed += n
		if err != nil {
			return waiting, confirmed, err
		}
	}
	return waiting, confirmed, nil
}

// believe returns the generation to grant in. It is read before the gate is seen open, and grants are read after that: so a grant that is
// unconfirmed then was not counted by the hydration that began this generation, which closes the gate before and opens it
// after all it counted is confirmed.
func (k *Keeper) believe(ctx context.Context) (meter.Generation, error) {
	g, err := k.Ledger.Generation(ctx)
	if err != nil {
		return "", err
	}
	if err := k.Meter.GateOpen(ctx); err != nil {
		return "", err
	}
	if !k.Meter.Opened(ctx) { // what GateOpen says may be a moment old
		return "", &meter.Refusal{Reason: meter.GateClosed, Detail: "nothing is granted until the gate is open"}
	}
	return g, nil
}

// confirm makes grants of one turn, but for families that are late. Those whose lines have to wait for their monthly grants become late.
func (k *Keeper) confirm(ctx context.Context, believed meter.Generation, grants []meterledger.GrantRow, late map[string]bool) (int, error) {
	grants = slices.DeleteFunc(grants, func(g meterledger.GrantRow) bool { return late[g.Family] })
	var lines []string
	for _, g := range grants {
		if g.Line != "" {
			lines = append(lines, g.Line)
		}
	}
	k.Directory.In(believed)
	known, err := k.Directory.Lines(ctx, time.Now(), lines...)
	if err == nil {
		grants, err = k.waiting(ctx, grants)
	}
	if err != nil {
		return 0, err
	}
	var mu sync.Mutex
	var made []meterledger.Confirmation
	var settled []meter.Grant
	group := new(errgroup.Group)
	group.SetLimit(grantsAtOnce)
	for _, g := range grants {
		group.Go(func() error {
			done, err := k.grant(ctx, believed, g.Grant, known[g.Line].Family)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				k.complain(ctx, "grant "+g.ID, err)
				k.Directory.Forget(g.Line)
				if g.Kind == meter.Monthly {
					late[known[g.Line].Family] = true
				}
				return nil
			}
			made, settled = append(made, meterledger.Confirmation{Grant: g.ID, Version: done.Version}), append(settled, g.Grant)
			return nil
		})
	}
	_ = group.Wait() // they return nothing
	delete(late, "")
	if err := k.Ledger.ConfirmGrants(ctx, believed, made); err != nil {
		return 0, err
	}
	return len(made), k.Meter.SettleGrants(ctx, settled, families(known))
}

// waiting returns those of some grants that still wait. It is asked when the families of their lines are known: a line has everything that
// was made in a unit confirmed before it leaves that, so whatever waits now was not made where the line was before.
func (k *Keeper) waiting(ctx context.Context, grants []meterledger.GrantRow) ([]meterledger.GrantRow, error) {
	if len(grants) == 0 {
		return nil, nil
	}
	ids := make([]string, len(grants))
	for i, g := range grants {
		ids[i] = g.ID
	}
	confirmed, err := k.Ledger.Confirmed(ctx, ids)
	return slices.DeleteFunc(grants, func(g meterledger.GrantRow) bool { return confirmed[g.ID] }), err
}

// families are those of lines.
func families(known map[string]meterledger.Line) map[string]string {
	all := make(map[string]string, len(known))
	for id, line := range known {
		all[id] = line.Family
	}
	return all
}

// grant makes a grant. Whoever is not in Redis yet is let in first.
func (k *Keeper) grant(ctx context.Context, believed meter.Generation, g meter.Grant, family string) (meterredis.Granted, error) {
	done, err := k.Meter.Grant(ctx, believed, g, family)
	if !errors.Is(err, meter.UnitNotHydrated) && !errors.Is(err, meter.UnknownLine) {
		return done, err
	}
	if g.Family != "" {
		family = g.Family
	}
	if let, failed := k.admit(ctx, g.Line, family); failed != nil || !let {
		return done, errors.Join(err, failed)
	}
	return k.Meter.Grant(ctx, believed, g, family)
}

// admit lets in what Redis does not know of a unit, as far as the ledger has nothing of it that was in Redis before: neither a row nor a
// confirmed grant. What was there before comes back by hydration or by a restore.
func (k *Keeper) admit(ctx context.Context, line, family string) (bool, error) {
	held, err := k.Ledger.Read(ctx, meterledger.Unit(meter.UnitTag(line, family)), meterledger.Horizon{})
	if err != nil {
		return false, err
	}
	old := map[string]bool{}
	for _, g := range held.Grants {
		if g.Confirmed() {
			old[meter.UnitTag(g.Line, g.Family)] = true
		}
	}
	for _, r := range held.Rows {
		old[meter.UnitTag(r.Event.Line, "")] = true
	}
	for key := range held.Source.Folded.Snapshots {
		old[meter.UnitTag(key.Line, "")] = true
	}
	unit, whole := meterredis.Members{Family: family}, !old[meter.UnitTag("", family)]
	for member := range held.Source.Members {
		if old[meter.UnitTag(member, "")] {
			whole = false
		} else {
			unit.Lines = append(unit.Lines, member)
		}
	}
	if len(unit.Lines) == 0 && !whole {
		return false, nil
	}
	return true, k.Meter.Admit(ctx, unit, whole)
}

// Bring brings one grant, whose row is in the ledger, to Redis, and returns the row as it is then. If Redis has it already, that is
// all. A grant that has to wait is a [*meter.Refusal], and [Keeper.Run] brings it later.
func (k *Keeper) Bring(ctx context.Context, id string) (meterledger.GrantRow, error) {
	believed, err := k.believe(ctx)
	if err != nil {
		return meterledger.GrantRow{}, err
	}
	g, err := k.Ledger.Grant(ctx, id)
	if err != nil || g.Confirmed() {
		return g, err
	}
	now, err := k.Ledger.Now(ctx)
	if err != nil {
		return g, err
	}
	if !k.Horizon.Due(k.Calendar, now).Includes(g.Month) {
		return g, &meter.Refusal{Reason: meter.MonthNotOpen, Field: "month", Detail: fmt.Sprintf("month %v is not open: the grant is applied when it is opened, 48 hours before it begins", g.Month)}
	}
	known, err := k.Ledger.Lines(ctx, []string{g.Line})
	if err != nil {
		return g, err
	}
	if g, err = k.Ledger.Grant(ctx, id); err != nil || g.Confirmed() { // as in waiting
		return g, err
	}
	done, err := k.grant(ctx, believed, g.Grant, known[g.Line].Family)
	if err != nil {
		return g, fmt.Errorf("grant %s: %w", id, err)
	}
	if err := k.Ledger.ConfirmGrants(ctx, believed, []meterledger.Confirmation{{Grant: id, Version: done.Version}}); err != nil {
		return g, err
	}
	if err := k.Meter.SettleGrants(ctx, []meter.Grant{g.Grant}, families(known)); err != nil {
		k.complain(ctx, "let expire the record of grant "+id, err) // which it only takes room by
	}
	return k.Ledger.Grant(ctx, id)
}
