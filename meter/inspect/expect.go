package inspect

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// expected is what Redis should have of a range, made from sums over the whole done log alone: neither from totals and snapshots
// nor from what hydration is made of, nor with the code that writes keys. Fields are spelled out here for that reason, as docs/meter.md
// lists them.
type expected struct {
	*auditing
	held   meterledger.Holdings
	book   *meter.Book
	apps   map[meter.DayKey][]string
	grants map[string][]meterledger.GrantRow // by owner
}

func (a *auditing) expected(held meterledger.Holdings, should meterledger.Audit) *expected {
	e := &expected{auditing: a, held: held, book: a.bookOf(held, should), apps: map[meter.DayKey][]string{}, grants: map[string][]meterledger.GrantRow{}}
	for key := range e.book.DailyApp {
		day := meter.DayKey{Line: key.Line, Day: key.Day}
		e.apps[day] = append(e.apps[day], key.App)
	}
	for _, g := range held.Grants {
		owner := meter.UnitTag(g.Line, g.Family)
		e.grants[owner] = append(e.grants[owner], g)
	}
	return e
}

// bookOf sums up what is left and what was used.
func (a *auditing) bookOf(held meterledger.Holdings, should meterledger.Audit) *meter.Book {
	b := meter.NewBook(held.Source.Generation, held.Source.Members)
	on := onTheirWay(held.Grants)
	for account, left := range should.Left() {
		if !slices.Contains(a.months, account.Month) {
			continue
		}
		key := meter.MonthKey{Owner: account.Owner[2:], Month: account.Month} // without l: or f:
		less := on[account]
		if less.all {
			continue
		}
		if account.Owner[0] == 'f' {
			b.Shared[key] = meter.SharedAllowance{Granted: true, Amount: amount(minus(left.Shared, less.Shared))}
		} else {
			b.Individual[key] = meter.Allowance{Granted: true, Amount: amount(minus(left.Individual, less.Individual)), QoS: amount(minus(left.QoS, less.QoS))}
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

// pendingGrants are sums of grants that are not confirmed, and whether there are no others.
type pendingGrants struct {
	meterledger.Allowances
	all bool
}

// onTheirWay sums up grants that are not known to be in Redis. Where they matter nothing decides, or nothing is said of the owner.
func onTheirWay(grants []meterledger.GrantRow) map[meterledger.Account]pendingGrants {
	sums, confirmed := map[meterledger.Account]pendingGrants{}, map[meterledger.Account]bool{}
	for _, g := range grants {
		account := meterledger.Account{Owner: meter.UnitTag(g.Line, g.Family), Month: g.Month}
		if g.Confirmed() {
			confirmed[account] = true
			continue
		}
		sum := sums[account].Allowances
		sums[account] = pendingGrants{meterledger.Allowances{
			Individual: sum.Individual.Plus(meter.WideOf(g.Individual)), QoS: sum.QoS.Plus(meter.WideOf(g.QoS)), Shared: sum.Shared.Plus(meter.WideOf(g.Shared)),
		}, true}
	}
	for account, sum := range sums {
		sum.all = !confirmed[account]
		sums[account] = sum
	}
	return sums
}

func minus(a, b meter.Wide) meter.Wide {
	if left, ok := a.Minus(b); ok {
		return left
	}
	return meter.Wide{}
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

// expectation is what a key should hold, and whose changes it is judged at.
type expectation struct {
	key     string
	owner   string // f:<family> or l:<line>; empty for a key that no event changes
	content meterredis.Content
}

// of returns what is expected of all keys that a unit can have, apart from those that count changes and that of the unit.
func (e *expected) of(members meterredis.Members, keys meterredis.Keys) []expectation {
	all := make([]expectation, 0, len(members.Lines)*(1+2*len(e.auditing.months)+3*len(e.auditing.days))+len(e.auditing.months))
	for _, line := range members.Lines {
		all = append(all, expectation{keys.LinePolicies(line), "", meterredis.Hash(fieldsOf(e.held.Policies.Lines[line].LineFields()), time.Time{})})
		all = e.months(all, line, keys)
		all = e.days(all, line, keys)
	}
	if members.Family == "" {
		return all
	}
	for _, month := range e.auditing.months {
		var fields map[string]string
		if left := e.book.Shared[meter.MonthKey{Owner: members.Family, Month: month}]; left.Granted {
			fields = map[string]string{"amount": digits(left.Amount)}
		}
		all = append(all, expectation{keys.Shared(members.Family, month), meter.UnitTag("", members.Family), meterredis.Hash(fields, e.Meter.MonthExpiry(month))})
	}
	return all
}

func (e *expected) months(all []expectation, line string, keys meterredis.Keys) []expectation {
	owner := meter.UnitTag(line, "")
	for _, month := range e.auditing.months {
		key, expires := meter.MonthKey{Owner: line, Month: month}, e.Meter.MonthExpiry(month)
		var left map[string]string
		if own := e.book.Individual[key]; own.Granted {
			left = map[string]string{"amount": digits(own.Amount), "qos": digits(own.QoS)}
		}
		all = append(all,
			expectation{keys.Individual(line, month), owner, meterredis.Hash(left, expires)},
			expectation{keys.MonthlyShared(line, month), owner, meterredis.Hash(sharedFields(e.book.MonthlyShared[key]), expires)})
	}
	return all
}

func (e *expected) days(all []expectation, line string, keys meterredis.Keys) []expectation {
	owner := meter.UnitTag(line, "")
	for _, day := range e.auditing.days {
		key, expires := meter.DayKey{Line: line, Day: day}, e.Meter.DayExpiry(day)
		total := ""
		if n := e.book.DailyTotal[key]; n > 0 {
			total = digits(n)
		}
		var apps map[string]string
		for _, app := range e.apps[key] {
			apps = addApp(apps, app, e.book.DailyApp[meter.AppKey{Line: line, Day: day, App: app}])
		}
		all = append(all,
			expectation{keys.DailyTotal(line, day), owner, meterredis.Text(total, expires)},
			expectation{keys.DailyApp(line, day), owner, meterredis.Hash(apps, expires)},
			expectation{keys.DailyShared(line, day), owner, meterredis.Hash(sharedFields(e.book.DailyShared[key]), expires)})
	}
	return all
}

// addApp adds the fields of an app: what is nothing has none.
func addApp(fields map[string]string, app string, u meter.AppUsage) map[string]string {
	if fields == nil {
		fields = map[string]string{}
	}
	for n, part := range [...]string{"individual", "shared", "qos"} {
		if amount := [...]int64{u.Individual, u.Shared, u.QoS}[n]; amount > 0 {
			fields["app:"+app+":"+part] = digits(amount)
		}
	}
	return fields
}

func sharedFields(u meter.SharedUsage) map[string]string {
	if u.Amount == 0 {
		return nil
	}
	return map[string]string{"usage_amount": digits(u.Amount), "family_id": u.Family}
}

func fieldsOf(fields []meter.Field) map[string]string {
	if len(fields) == 0 {
		return nil
	}
	all := make(map[string]string, len(fields))
	for _, f := range fields {
		all[f.Name] = f.Value
	}
	return all
}

func digits(n int64) string { return strconv.FormatInt(n, 10) }

// unit returns what is expected of the unit's own key. SQL does not say since when it decides without the done log, only between which
// instants that is; nor which months were open that are over. Both are taken as they are where they can be so.
func (e *expected) unit(members meterredis.Members, generation meter.Generation, is meterredis.Content) meterredis.Content {
	fields := map[string]string{"generation": string(generation), "phase": "3", "open": "1"}
	if open := is.Fields["open"]; !e.still() && strings.HasPrefix(open, "0") {
		fields["open"] = open // nobody opens it beside a line that moves
	}
	tag := unit{members: members}.tag()
	for _, g := range e.grants[tag] {
		if g.Kind == meter.Monthly && g.Confirmed() {
			fields["opened:"+g.Month.String()] = "1"
		}
	}
	for _, line := range members.Lines {
		if stamp := stampOf(e.held.Policies.Lines[line]); stamp != "" {
			fields["policies:"+line] = stamp
		}
	}
	for field, value := range is.Fields {
		if strings.HasPrefix(field, "moves:") {
			fields[field] = value // it tells moves of a line apart that are under way at once
		}
		if month, ok := strings.CutPrefix(field, "opened:"); ok && value == "1" {
			if m, err := meter.ParseMonth(month); err == nil && m < e.auditing.months[0] {
				fields[field] = "1"
			}
		}
	}
	if since, there := is.Fields["since"]; e.soundSince(since, there, members) {
		if there {
			fields["since"] = since
		}
	} else {
		fields["since"] = digits(e.now.Add(e.Horizon.Tolerance).UnixMilli())
	}
	return meterredis.Hash(fields, time.Time{})
}

// soundSince reports whether a unit can say since when it decides: not before this generation began, because what happened before may have
// been decided in another one, and not later than now. A unit that was let in later says nothing.
func (e *expected) soundSince(text string, there bool, members meterredis.Members) bool {
	if e.Shadow {
		return true
	}
	if !there {
		return !e.hydrated(members)
	}
	since, err := strconv.ParseInt(text, 10, 64)
	begun, latest := e.held.Since.Add(e.Horizon.Tolerance), e.now.Add(e.Horizon.Tolerance+time.Minute)
	return err == nil && text == digits(since) && since >= begun.UnixMilli() && since <= latest.UnixMilli()
}

// hydrated reports whether anything of the unit was there when it was hydrated: a grant that hydration counted, or one of an older
// generation.
func (e *expected) hydrated(members meterredis.Members) bool {
	owners := owners([]meterredis.Members{members})
	for _, owner := range owners {
		for _, g := range e.grants[owner] {
			if g.Confirmed() && (g.Version == 0 || g.Generation != e.held.Source.Generation) {
				return true
			}
		}
	}
	return false
}

// stampOf names the versions of a line's own policies: 3:1,5:12.
func stampOf(set meter.PolicySet) string {
	var parts []string
	for _, id := range meter.AllPolicies() {
		if v := set.Get(id).Version(); v > 0 {
			parts = append(parts, id.String()+":"+digits(v))
		}
	}
	return strings.Join(parts, ",")
}
