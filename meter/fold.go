package meter

// Sums are the parts of many splits. They are wide: what is blocked has no allowance that would limit it.
type Sums struct {
	Events     int64
	Individual Wide
	Shared     Wide
	QoS        Wide
	Blocked    Wide
	Uncounted  Wide
}

// Plus returns the sums of both.
func (s Sums) Plus(o Sums) Sums {
	return Sums{
		Events: s.Events + o.Events, Individual: s.Individual.Plus(o.Individual), Shared: s.Shared.Plus(o.Shared),
		QoS: s.QoS.Plus(o.QoS), Blocked: s.Blocked.Plus(o.Blocked), Uncounted: s.Uncounted.Plus(o.Uncounted),
	}
}

func sumsOf(s Split) Sums {
	return Sums{
		Events: 1, Individual: WideOf(s.Individual), Shared: WideOf(s.Shared),
		QoS: WideOf(s.QoS), Blocked: WideOf(s.Blocked), Uncounted: WideOf(s.Uncounted),
	}
}

// TotalKey is what a daily total by app is unique by. Family is that of the rows: a line that moved on a day has two.
type TotalKey struct {
	Line   string
	Day    Day
	App    string
	Family string
	Month  Month
}

// SnapshotKey is what a monthly snapshot is unique by.
type SnapshotKey struct {
	Line   string
	Month  Month
	Family string
}

// Folded is what folds have made of the rows that they took in: what each line used of each app in a day, and of all apps
// in a month. A row is in it once or not at all; which ones are, their stamps say.
type Folded struct {
	Totals    map[TotalKey]Sums
	Snapshots map[SnapshotKey]Sums
}

// Fold sums up rows. An error is a [*Refusal] of a row that no deduction can have written.
func Fold(rows []Row) (Folded, error) {
	f := Folded{map[TotalKey]Sums{}, map[SnapshotKey]Sums{}}
	for _, row := range rows {
		if err := row.Validate(); err != nil {
			return Folded{}, err
		}
		e, r, sums := row.Event, row.Result, sumsOf(row.Result.Split)
		day, month := TotalKey{e.Line, r.Day, e.App, r.Family, r.Month}, SnapshotKey{e.Line, r.Month, r.Family}
		f.Totals[day] = f.Totals[day].Plus(sums)
		f.Snapshots[month] = f.Snapshots[month].Plus(sums)
	}
	return f, nil
}

// Plus returns what folding the rows of both would have given. So a fold can go on where another ended, in any order.
func (f Folded) Plus(o Folded) Folded {
	return Folded{plus(f.Totals, o.Totals), plus(f.Snapshots, o.Snapshots)}
}

func plus[K comparable](a, b map[K]Sums) map[K]Sums {
	sum := make(map[K]Sums, len(a)+len(b))
	for _, m := range []map[K]Sums{a, b} {
		for k, v := range m {
			sum[k] = sum[k].Plus(v)
		}
	}
	return sum
}
