package meter

import "maps"

// Source is what SQL holds: all that a state in Redis can be made from.
type Source struct {
	// Generation is that of the Redis that the state is for.
	Generation Generation
	// Members are all lines with the family that each is in now, empty for none.
	Members map[string]string
	// Grants are all grants to these lines and families.
	Grants []Grant
	// Folded are the totals and snapshots of these lines, and of lines that were in these families.
	Folded Folded
	// Rows are those that no fold has taken in.
	Rows []Row
}

// Rebuild makes the state that follows from SQL: grants less snapshots give what is left of allowances, totals and
// snapshots give the counters, and rows are applied with the splits that are stored in them. Versions are 0, as in a
// generation that has just begun. An error is a [*Refusal] that says what in SQL does not fit together.
func Rebuild(source Source) (*Book, error) { return RebuildThrough(source, PhaseRows) }

// RebuildThrough makes the state that a phase ends with: first what follows from grants and snapshots, then the counters that follow from
// totals, then what no fold has taken in.
func RebuildThrough(source Source, last Phase) (*Book, error) {
	b := NewBook(source.Generation, maps.Clone(source.Members))
	for i, phase := range []func(Source) error{b.hydrate, b.total, b.replay} {
		if Phase(i) == last {
			break
		}
		if err := phase(source); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// account is an owner's allowances of a month: those of a line, or that of a family.
type account struct {
	line, family string
	month        Month
}

func accountOf(g Grant) account { return account{g.Line, g.Family, g.Month} }

// Counted tells which of some grants allowances are made of: those of months that are open for their owners, by the monthly grants that are among them.
// A top-up that was made ahead waits for the monthly grant, also where Redis is filled meanwhile: an allowance that is there is not opened again.
func Counted(grants []Grant) func(Grant) bool {
	open := map[account]bool{}
	for _, g := range grants {
		if g.Kind == Monthly {
			open[accountOf(g)] = true
		}
	}
	return func(g Grant) bool { return open[accountOf(g)] }
}

// allowances are sums of what an account was granted, or of what was used of it.
type allowances struct{ individual, shared, qos Wide }

func (a allowances) plus(o allowances) allowances {
	return allowances{a.individual.Plus(o.individual), a.shared.Plus(o.shared), a.qos.Plus(o.qos)}
}

// hydrate is phase 0: what is left of every allowance, and what lines took of shared ones, as far as folds know.
func (b *Book) hydrate(source Source) error {
	granted, used := map[account]allowances{}, map[account]allowances{}
	counts := Counted(source.Grants)
	for _, g := range source.Grants {
		if err := g.Validate(); err != nil {
			return err
		}
		if !counts(g) {
			continue
		}
		b.open(g)
		a := accountOf(g)
		granted[a] = granted[a].plus(allowances{WideOf(g.Individual), WideOf(g.Shared), WideOf(g.QoS)})
	}
	for key, sums := range source.Folded.Snapshots {
		if sums.Shared != (Wide{}) && key.Family == "" {
			return refuse(MissingFamily, "family_id", "line %s used %v bytes of a shared allowance in %v, and the snapshot names no family: find the family in the line's history",
				key.Line, sums.Shared, key.Month)
		}
		line, family := account{key.Line, "", key.Month}, account{"", key.Family, key.Month}
		used[line] = used[line].plus(allowances{individual: sums.Individual, qos: sums.QoS})
		used[family] = used[family].plus(allowances{shared: sums.Shared})
	}
	for a, sum := range granted {
		if err := b.left(a, sum, used[a]); err != nil {
			return err
		}
	}
	if err := b.allGranted(granted, used); err != nil {
		return err
	}
	return b.taken(source)
}

// taken counts what lines took of shared allowances by month: of that of the family which the line is in now.
func (b *Book) taken(source Source) error {
	for key, sums := range source.Folded.Snapshots {
		month := MonthKey{key.Line, key.Month}
		shared := b.MonthlyShared[month]
		if family, known := b.Members[key.Line]; known && !shared.raise(family, key.Family, sums.Shared) {
			return refuse(Overflow, "", "the shared usage of line %s in %v is more than %d", key.Line, key.Month, int64(MaxAmount))
		}
		put(b.MonthlyShared, month, shared)
	}
	return nil
}

// allGranted refuses usage without a grant. Families that lines were in before are not looked at: their grants are not here.
func (b *Book) allGranted(granted, used map[account]allowances) error {
	families := map[string]bool{}
	for _, family := range b.Members {
		families[family] = true
	}
	for a, sum := range used {
		_, known := b.Members[a.line]
		ours := a.line != "" && known || a.family != "" && families[a.family]
		if _, ok := granted[a]; !ok && ours && sum != (allowances{}) {
			return refuse(MissingAllowance, "", "%s has usage of %v and no grant: a grant is missing", UnitTag(a.line, a.family), a.month)
		}
	}
	return nil
}

// left writes what is left of an account.
func (b *Book) left(a account, granted, used allowances) error {
	var amounts [3]int64
	for i, pair := range [...][2]Wide{{granted.individual, used.individual}, {granted.shared, used.shared}, {granted.qos, used.qos}} {
		left, ok := pair[0].Minus(pair[1])
		if !ok {
			return refuse(Overdrawn, "", "%s used %v bytes of %v that were granted of %v: a grant is missing", UnitTag(a.line, a.family), pair[1], pair[0], a.month)
		}
		if amounts[i], ok = left.Amount(); !ok {
			return refuse(Overflow, "", "%s would have %v bytes left of %v, which is more than %d", UnitTag(a.line, a.family), left, a.month, int64(MaxAmount))
		}
	}
	if a.family != "" {
		b.Shared[MonthKey{a.family, a.month}] = SharedAllowance{true, amounts[1]}
	} else {
		b.Individual[MonthKey{a.line, a.month}] = Allowance{true, amounts[0], amounts[2]}
	}
	return nil
}

// total is phase 1: the counters of days. Shared usage counts that of the family which the line is in now; what it took of others
// before is theirs.
func (b *Book) total(source Source) error {
	for key, sums := range source.Folded.Totals {
		family, known := b.Members[key.Line]
		if !known {
			continue // of another unit; here it counts only for the allowance of the family that it was in
		}
		day, app := DayKey{key.Line, key.Day}, AppKey{key.Line, key.Day, key.App}
		total, usage, shared := b.DailyTotal[day], b.DailyApp[app], b.DailyShared[day]
		ok := raiseBy(&total, sums.Individual.Plus(sums.Shared).Plus(sums.QoS)) &&
			raiseBy(&usage.Individual, sums.Individual) && raiseBy(&usage.Shared, sums.Shared) && raiseBy(&usage.QoS, sums.QoS)
		if !ok || !shared.raise(family, key.Family, sums.Shared) {
			return refuse(Overflow, "", "the counters of line %s on %v are more than %d", key.Line, key.Day, int64(MaxAmount))
		}
		put(b.DailyTotal, day, total)
		put(b.DailyApp, app, usage)
		put(b.DailyShared, day, shared)
	}
	return nil
}

// raise adds what a line that is in one family took of another's allowance, if the two are one.
func (u *SharedUsage) raise(family, of string, sum Wide) bool {
	if family != of || sum == (Wide{}) {
		return true
	}
	u.Family = family
	return raiseBy(&u.Amount, sum)
}

func raiseBy(counter *int64, sum Wide) (ok bool) {
	*counter, ok = WideOf(*counter).Plus(sum).Amount()
	return ok
}

// replay is phase 2: the rows that no fold has taken in.
func (b *Book) replay(source Source) error {
	for _, row := range source.Rows {
		if err := b.ApplyRow(row); err != nil {
			return err
		}
	}
	return nil
}
