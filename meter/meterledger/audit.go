package meterledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Audit is what the done log and the grants say of some units, summed up anew, beside what folds made of them. It is made by
// statements of its own, in SQL alone, so that a fault in what it is compared with does not hide itself.
type Audit struct {
	// Usage is what the log's rows sum up to, of every line that is or was in the units, and Totals are the daily totals.
	// Days of which rows were purged are left out; by month, their totals stand for them.
	Usage  map[meter.TotalKey]Recount
	Totals map[meter.TotalKey]meter.Sums
	// Months are the same by month, and Snapshots the monthly snapshots.
	Months    map[meter.SnapshotKey]Recount
	Snapshots map[meter.SnapshotKey]meter.Sums
	// Granted is what the units' lines and families were granted.
	Granted map[Account]Allowances
}

// Recount is a sum over rows of the log.
type Recount struct {
	All    meter.Sums
	Folded meter.Sums // of those that a fold has stamped
}

// Account is the allowances that an owner, named as by [meter.UnitTag], has of a month.
type Account struct {
	Owner string
	Month meter.Month
}

// owner is the line or the family whose account it is.
func (a Account) owner() (line, family string) {
	if id, ok := strings.CutPrefix(a.Owner, lineTag); ok {
		return id, ""
	}
	return "", strings.TrimPrefix(a.Owner, familyTag)
}

// Allowances are sums of each kind of allowance.
type Allowances struct{ Individual, QoS, Shared meter.Wide }

// Difference is something that is not as the log says.
type Difference struct {
	// Where names table and row.
	Where string
	// Is is what stands there, and Should what the log says.
	Is, Should string
	// Line and Family are those whose row it is: either may be empty.
	Line, Family string
}

// String returns the difference as a sentence.
func (d Difference) String() string {
	return fmt.Sprintf("%s: is %s, should be %s", d.Where, d.Is, d.Should)
}

// Audit recomputes a range of units, at one moment. It reads all that the log has of them.
func (l *Ledger) Audit(ctx context.Context, r Range) (a Audit, err error) {
	lineFrom, lineTo := r.part(lineTag)
	familyFrom, familyTo := r.part(familyTag)
	units := []any{lineFrom, lineTo, familyFrom, familyTo}
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		a = Audit{
			map[meter.TotalKey]Recount{}, map[meter.TotalKey]meter.Sums{},
			map[meter.SnapshotKey]Recount{}, map[meter.SnapshotKey]meter.Sums{}, map[Account]Allowances{},
		}
		return l.audit(tx, units, &a)
	})
	return a, err
}

func (l *Ledger) audit(tx *database.Tx, units []any, a *Audit) error {
	var t meter.TotalKey
	var m meter.SnapshotKey
	addMonth := func(k meter.SnapshotKey, r Recount) {
		a.Months[k] = Recount{a.Months[k].All.Plus(r.All), a.Months[k].Folded.Plus(r.Folded)}
	}
	if err := eachRecount(tx, l.sql.auditUsage, units, []any{&t.Line, &t.Day, &t.App, &t.Family, &t.Month}, func(r Recount) {
		a.Usage[t] = r
		addMonth(meter.SnapshotKey{Line: t.Line, Month: t.Month, Family: t.Family}, r)
	}); err != nil {
		return err
	}
	if err := eachRecount(tx, l.sql.auditPurged, units, []any{&m.Line, &m.Month, &m.Family}, func(r Recount) { addMonth(m, r) }); err != nil {
		return err
	}
	if err := l.eachTotal(tx, l.sql.auditTotals, units, func(k meter.TotalKey, s meter.Sums) { a.Totals[k] = s }); err != nil {
		return err
	}
	if err := l.eachSnapshot(tx, l.sql.auditSnapshots, units, func(k meter.SnapshotKey, s meter.Sums) { a.Snapshots[k] = s }); err != nil {
		return err
	}
	var account Account
	var individual, qos, shared string
	return tx.Each(l.sql.auditGrants, units, []any{&account.Owner, &account.Month, &individual, &qos, &shared}, func() (err error) {
		var sum Allowances
		for _, part := range []struct {
			text string
			to   *meter.Wide
		}{{individual, &sum.Individual}, {qos, &sum.QoS}, {shared, &sum.Shared}} {
			if *part.to, err = meter.ParseWide(part.text); err != nil {
				return unreadable("a sum of grants", err)
			}
		}
		a.Granted[account] = sum
		return nil
	})
}

func eachRecount(tx *database.Tx, s database.Statement, arguments, key []any, do func(Recount)) error {
	var all, folded sumsText
	return tx.Each(s, arguments, append(append(key, all.columns()...), folded.columns()...), func() (err error) {
		var r Recount
		if r.All, err = all.sums(); err == nil {
			r.Folded, err = folded.sums()
		}
		if err == nil {
			do(r)
		}
		return err
	})
}

// Used returns what was taken of each account, by all rows of the log.
func (a Audit) Used() map[Account]Allowances {
	used := map[Account]Allowances{}
	for k, r := range a.Months {
		line := Account{lineTag + k.Line, k.Month}
		sum := used[line]
		used[line] = Allowances{sum.Individual.Plus(r.All.Individual), sum.QoS.Plus(r.All.QoS), sum.Shared}
		if k.Family != "" {
			family := Account{familyTag + k.Family, k.Month}
			sum := used[family]
			used[family] = Allowances{sum.Individual, sum.QoS, sum.Shared.Plus(r.All.Shared)}
		}
	}
	return used
}

// Left returns what is left of each account of the units: what Redis should say. Where more was used than granted, which is
// among the differences, it is nothing.
func (a Audit) Left() map[Account]Allowances {
	left, used := map[Account]Allowances{}, a.Used()
	for account, granted := range a.Granted {
		u := used[account]
		left[account] = Allowances{remaining(granted.Individual, u.Individual), remaining(granted.QoS, u.QoS), remaining(granted.Shared, u.Shared)}
	}
	return left
}

func remaining(granted, used meter.Wide) meter.Wide {
	if left, ok := granted.Minus(used); ok {
		return left
	}
	return meter.Wide{}
}

// Differences compares what stands in SQL: totals and snapshots with the rows that are stamped, and usage with grants.
func (a Audit) Differences() (all []Difference) {
	for _, k := range union(a.Usage, a.Totals) {
		if is, should := a.Totals[k], a.Usage[k].Folded; is != should {
			all = append(all, Difference{fmt.Sprintf("meter_daily_app_total, line %s, day %v, app %s, family %q, month %v", k.Line, k.Day, k.App, k.Family, k.Month), textOf(is), textOf(should), k.Line, k.Family})
		}
	}
	for _, k := range union(a.Months, a.Snapshots) {
		if is, should := a.Snapshots[k], a.Months[k].Folded; is != should {
			all = append(all, Difference{fmt.Sprintf("meter_monthly_snapshot, line %s, month %v, family %q", k.Line, k.Month, k.Family), textOf(is), textOf(should), k.Line, k.Family})
		}
	}
	for account, used := range a.Used() {
		granted := a.Granted[account]
		_, individual := granted.Individual.Minus(used.Individual)
		_, qos := granted.QoS.Minus(used.QoS)
		_, shared := granted.Shared.Minus(used.Shared)
		if _, ours := a.Granted[account]; (ours || strings.HasPrefix(account.Owner, lineTag)) && !(individual && qos && shared) {
			line, family := account.owner()
			all = append(all, Difference{fmt.Sprintf("meter_grants, %s, month %v", account.Owner, account.Month), granted.String(), "at least what was used, " + used.String(), line, family})
		}
	}
	slices.SortFunc(all, func(a, b Difference) int { return strings.Compare(a.Where, b.Where) })
	return all
}

// String lists the sums.
func (a Allowances) String() string {
	return fmt.Sprintf("individual %v, qos %v, shared %v", a.Individual, a.QoS, a.Shared)
}

func textOf(s meter.Sums) string {
	return fmt.Sprintf("%d events, individual %v, shared %v, qos %v, blocked %v, uncounted %v", s.Events, s.Individual, s.Shared, s.QoS, s.Blocked, s.Uncounted)
}

func union[K comparable, A, B any](a map[K]A, b map[K]B) []K {
	all := make([]K, 0, len(a))
	for k := range a {
		all = append(all, k)
	}
	for k := range b {
		if _, both := a[k]; !both {
			all = append(all, k)
		}
	}
	return all
}
