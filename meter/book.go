package meter

// Book is the state of any number of lines and families: a map for each kind of key that Redis has. It is
// complete and open, there is no gate to it, and versions count from 0. Fields are exported so that they can be compared.
//
// A Book is a model, for proofs and for what is to be expected. Its methods change it; it is for one goroutine.
type Book struct {
	Generation Generation
	Members    map[string]string // the family of each line, empty for none

	Opened        map[MonthKey]bool            // by unit: its [UnitTag]
	Individual    map[MonthKey]Allowance       // by line
	Shared        map[MonthKey]SharedAllowance // by family
	DailyTotal    map[DayKey]int64
	DailyApp      map[AppKey]AppUsage
	DailyShared   map[DayKey]SharedUsage
	MonthlyShared map[MonthKey]SharedUsage // by line

	LineVersions   map[string]int64
	FamilyVersions map[string]int64
}

// MonthKey is a line or a family, and a month.
type MonthKey struct {
	Owner string
	Month Month
}

// DayKey is a line and a day.
type DayKey struct {
	Line string
	Day  Day
}

// AppKey is an app of a line, and a day.
type AppKey struct {
	Line string
	Day  Day
	App  string
}

// NewBook returns the book of lines that have neither grants nor usage.
func NewBook(generation Generation, members map[string]string) *Book {
	return &Book{
		Generation: generation, Members: members,
		Opened:     map[MonthKey]bool{},
		Individual: map[MonthKey]Allowance{}, Shared: map[MonthKey]SharedAllowance{},
		DailyTotal: map[DayKey]int64{}, DailyApp: map[AppKey]AppUsage{},
		DailyShared: map[DayKey]SharedUsage{}, MonthlyShared: map[MonthKey]SharedUsage{},
		LineVersions: map[string]int64{}, FamilyVersions: map[string]int64{},
	}
}

// State returns the state of a line, for one of its apps on a day of a month.
func (b *Book) State(line, app string, day Day, month Month) State {
	family, known := b.Members[line]
	s := State{
		Line: line, Family: family, App: app, Day: day, Month: month, Known: known, Generation: b.Generation,
		LineVersion:   b.LineVersions[line],
		Individual:    b.Individual[MonthKey{line, month}],
		DailyTotal:    b.DailyTotal[DayKey{line, day}],
		DailyApp:      b.DailyApp[AppKey{line, day, app}],
		DailyShared:   b.DailyShared[DayKey{line, day}],
		MonthlyShared: b.MonthlyShared[MonthKey{line, month}],
	}
	if family != "" {
		s.Shared, s.FamilyVersion = b.Shared[MonthKey{family, month}], b.FamilyVersions[family]
	}
	s.Unit = b.unit(line, family, month)
	return s
}

func (b *Book) unit(line, family string, month Month) Unit {
	return Unit{b.Generation, PhaseRows, true, b.Opened[MonthKey{UnitTag(line, family), month}]}
}

// open notes that a monthly grant has opened the month of a unit.
func (b *Book) open(g Grant) {
	family := g.Family
	if g.Line != "" {
		family = b.Members[g.Line]
	}
	if g.Kind == Monthly {
		b.Opened[MonthKey{UnitTag(g.Line, family), g.Month}] = true
	}
}

// Put takes in a state that [Book.State] has returned and that was changed since.
func (b *Book) Put(s State) {
	put(b.LineVersions, s.Line, s.LineVersion)
	put(b.Individual, MonthKey{s.Line, s.Month}, s.Individual)
	put(b.DailyTotal, DayKey{s.Line, s.Day}, s.DailyTotal)
	put(b.DailyApp, AppKey{s.Line, s.Day, s.App}, s.DailyApp)
	put(b.DailyShared, DayKey{s.Line, s.Day}, s.DailyShared)
	put(b.MonthlyShared, MonthKey{s.Line, s.Month}, s.MonthlyShared)
	if s.Family != "" {
		put(b.FamilyVersions, s.Family, s.FamilyVersion)
		put(b.Shared, MonthKey{s.Family, s.Month}, s.Shared)
	}
}

// put writes what is not zero: a counter of nothing has no key.
func put[K, V comparable](m map[K]V, key K, value V) {
	var zero V
	if value == zero {
		delete(m, key)
		return
	}
	m[key] = value
}

// Apply decides an event, as [Apply] does, and returns the row that the done log gets of it.
func (b *Book) Apply(e Event, p Policies) (Row, error) {
	day := p.Calendar.Day(e.At)
	next, result, err := Apply(b.State(e.Line, e.App, day, p.Calendar.MonthOf(day)), e, p)
	if err != nil {
		return Row{}, err
	}
	b.Put(next)
	return Row{e, result}, nil
}

// ApplyRow applies a row, as [ApplyRow] does.
func (b *Book) ApplyRow(r Row) error {
	next, err := ApplyRow(b.State(r.Event.Line, r.Event.App, r.Result.Day, r.Result.Month), r)
	if err != nil {
		return err
	}
	b.Put(next)
	return nil
}

// ApplyGrant makes a grant, as [ApplyGrant] does.
func (b *Book) ApplyGrant(g Grant, p Policies) error {
	if g.Family != "" {
		return b.grantFamily(g, p)
	}
	next, err := ApplyGrant(b.State(g.Line, "", 0, g.Month), g, p)
	if err != nil {
		return err
	}
	b.Put(next)
	b.open(g)
	return nil
}

func (b *Book) grantFamily(g Grant, p Policies) error {
	key := MonthKey{g.Family, g.Month}
	next, err := ApplyGrant(State{
		Family: g.Family, Month: g.Month, Generation: b.Generation, FamilyVersion: b.FamilyVersions[g.Family],
		Shared: b.Shared[key], Unit: b.unit("", g.Family, g.Month),
	}, g, p)
	if err != nil {
		return err
	}
	put(b.FamilyVersions, g.Family, next.FamilyVersion)
	put(b.Shared, key, next.Shared)
	b.open(g)
	return nil
}
