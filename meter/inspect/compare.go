package inspect

import (
	"fmt"
	"maps"
	"slices"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// expected is what Redis should have, made from sums over the whole done log alone: neither from totals and snapshots nor from
// what hydration is made of.
func (a *auditing) expected(held meterledger.Holdings, should meterledger.Audit) *meter.Book {
	b := meter.NewBook(held.Source.Generation, held.Source.Members)
	for account, left := range should.Left() {
		if !slices.Contains(a.months, account.Month) {
			continue
		}
		key := meter.MonthKey{Owner: account.Owner[2:], Month: account.Month} // without l: or f:
		if account.Owner[0] == 'f' {
			b.Shared[key] = meter.SharedAllowance{Granted: true, Amount: amount(left.Shared)}
		} else {
			b.Individual[key] = meter.Allowance{Granted: true, Amount: amount(left.Individual), QoS: amount(left.QoS)}
		}
	}
	for key, sums := range should.Usage {
		if family, ours := held.Source.Members[key.Line]; ours && slices.Contains(a.days, key.Day) {
			addUsage(b, key, sums.All, family == key.Family)
		}
	}
	for key, sums := range should.Months {
		taken := amount(sums.All.Shared)
		if family, ours := held.Source.Members[key.Line]; ours && family == key.Family && taken > 0 && slices.Contains(a.months, key.Month) {
			b.MonthlyShared[meter.MonthKey{Owner: key.Line, Month: key.Month}] = meter.SharedUsage{Amount: taken, Family: family}
		}
	}
	return b
}

func addUsage(b *meter.Book, key meter.TotalKey, sums meter.Sums, own bool) {
	day, app := meter.DayKey{Line: key.Line, Day: key.Day}, meter.AppKey{Line: key.Line, Day: key.Day, App: key.App}
	individual, shared, qos := amount(sums.Individual), amount(sums.Shared), amount(sums.QoS)
	if individual+shared+qos == 0 {
		return
	}
	b.DailyTotal[day] += individual + shared + qos
	usage := b.DailyApp[app]
	b.DailyApp[app] = meter.AppUsage{Individual: usage.Individual + individual, Shared: usage.Shared + shared, QoS: usage.QoS + qos}
	if own && shared > 0 {
		b.DailyShared[day] = meter.SharedUsage{Amount: b.DailyShared[day].Amount + shared, Family: key.Family}
	}
}

// amount is a sum that no grant allows to be larger than an amount.
func amount(w meter.Wide) int64 {
	n, ok := w.Amount()
	if !ok {
		return meter.MaxAmount
	}
	return n
}

// comparison is of one unit.
type comparison struct {
	*auditing
	members       meterredis.Members
	before, after map[string]meterledger.Changes // around the look at Redis
	seen          meterredis.Observed
	book          *meter.Book
	generation    meter.Generation
}

func (c *comparison) tag() string { return unit{members: c.members}.tag() }

func (c *comparison) differ(where string, is, should any) {
	c.report.Differences = append(c.report.Differences, meterledger.Difference{Where: where, Is: fmt.Sprint(is), Should: fmt.Sprint(should)})
}

// compare reports whether the unit could be compared.
func (c *comparison) compare() bool {
	u := c.seen.Unit
	if u.Generation != c.generation || u.Phase < meter.PhaseRows {
		if c.isNew() {
			return false // the keeper lets it in
		}
		c.differ("unit "+c.tag()+" in Redis", fmt.Sprintf("at phase %d of generation %q", u.Phase, u.Generation), fmt.Sprintf("complete in generation %q", c.generation))
		return true
	}
	for _, owner := range owners([]meterredis.Members{c.members}) {
		before, after := c.before[owner], c.after[owner]
		switch version := c.version(owner); {
		case before.Count != after.Count || after.Unconfirmed > 0 || version > after.Highest:
			return false
		case !after.GapFree():
			return false // a row in the middle is under way, or was lost: nobody can tell yet
		case version < after.Count:
			c.differ("changes of "+owner+" in Redis", version, fmt.Sprintf("%d, of which SQL has rows: Redis has lost some", after.Count))
			return true
		}
	}
	c.values()
	return true
}

// isNew reports whether nothing of the unit was ever in Redis.
func (c *comparison) isNew() bool {
	for _, owner := range owners([]meterredis.Members{c.members}) {
		if c.after[owner].Count > 0 || c.after[owner].Unconfirmed == 0 {
			return false
		}
	}
	return true
}

func (c *comparison) version(owner string) int64 {
	if owner[0] == 'f' {
		return c.seen.Book.FamilyVersions[owner[2:]]
	}
	return c.seen.Book.LineVersions[owner[2:]]
}

// values compares all that the unit has.
func (c *comparison) values() {
	is := c.seen.Book
	lines := map[string]bool{}
	for _, line := range c.members.Lines {
		lines[line] = true
	}
	family := func(k meter.MonthKey) bool { return k.Owner == c.members.Family }
	ofMonth := func(k meter.MonthKey) bool { return lines[k.Owner] }
	ofDay := func(k meter.DayKey) bool { return lines[k.Line] }
	each(c, "remaining_indiv_amount", is.Individual, c.book.Individual, ofMonth)
	each(c, "remaining_shared_amount", is.Shared, c.book.Shared, family)
	each(c, "monthly_shared_usage", is.MonthlyShared, c.book.MonthlyShared, ofMonth)
	each(c, "daily_total_usage", is.DailyTotal, c.book.DailyTotal, ofDay)
	each(c, "daily_shared_usage", is.DailyShared, c.book.DailyShared, ofDay)
	each(c, "daily_app_usage", is.DailyApp, c.book.DailyApp, func(k meter.AppKey) bool { return lines[k.Line] })
}

// each compares one kind of key of the unit.
func each[K, V comparable](c *comparison, kind string, is, should map[K]V, ours func(K) bool) {
	keys := map[K]bool{}
	for _, m := range []map[K]V{is, should} {
		for k := range maps.Keys(m) {
			if ours(k) {
				keys[k] = true
			}
		}
	}
	for k := range keys {
		if is[k] != should[k] {
			c.differ(fmt.Sprintf("%s %+v in Redis", kind, k), fmt.Sprintf("%+v", is[k]), fmt.Sprintf("%+v", should[k]))
		}
	}
}
