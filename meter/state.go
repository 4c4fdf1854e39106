package meter

// State is all that Redis holds of what one event can read or change: the keys of its line, its family and its unit, in
// its day and month, and of the day's hash of apps the fields of its app. It is a value.
//
// A counter that is not there is 0, and one that is 0 is not there: a key is written when something is first counted in
// it. Allowances are different, 0 is one.
type State struct {
	// Whose keys these are, and of when.
	Line   string
	Family string // empty for a line in none
	App    string
	Day    Day
	Month  Month

	Generation Generation // of the bucket
	Unit       Unit

	// Known: the line is hydrated, that is, it has a version. Moved: it was in this unit and is in another now.
	Known, Moved bool

	// Versions count changes in this generation.
	LineVersion   int64
	FamilyVersion int64

	Individual Allowance       // remaining_indiv_amount
	Shared     SharedAllowance // remaining_shared_amount

	DailyTotal    int64       // daily_total_usage
	DailyApp      AppUsage    // daily_app_usage, the fields of the app
	DailyShared   SharedUsage // daily_shared_usage
	MonthlyShared SharedUsage // monthly_shared_usage
}

// Unit is what decides together: a family with all its lines, or a line without one.
type Unit struct {
	Generation Generation // under which it was hydrated; empty if it was not
	Phase      Phase
	Open       bool
	MonthOpen  bool // the allowances of the state's month are there
}

// Phase says how far a unit has been hydrated.
type Phase uint8

// The phases. Only a unit that has all rows decides events.
const (
	PhaseNone     Phase = iota // nothing is there, or nothing to rely on
	PhaseHydrated              // allowances less what folds have taken in, and what was taken of shared ones by month
	PhaseTotals                // and the counters of days, of folded rows
	PhaseRows                  // and the rows that no fold has stamped: complete
)

// Allowance is what is left of a line's own allowance of a month.
type Allowance struct {
	Granted bool // it is there, if only with 0
	Amount  int64
	QoS     int64
}

// SharedAllowance is what is left of a family's allowance of a month.
type SharedAllowance struct {
	Granted bool
	Amount  int64
}

// AppUsage is what a line used of an app in a day, by the allowance that it was taken from.
type AppUsage struct {
	Individual, Shared, QoS int64
}

// SharedUsage is what a line took of the allowance of the family that it is in.
type SharedUsage struct {
	Amount int64
	Family string
}

// ready returns nil if the state, under a gate, can be changed, or the [*Refusal] that says what is not as it should be.
func (s State) ready(p Policies) error {
	missing := p.Global.Missing()
	switch {
	case !p.open():
		return refuse(GateClosed, "", "policy 8 is closed or not there: the same is decided when it is open")
	case len(missing) > 0:
		return refuse(PoliciesMissing, "", "policies %v are not there: write them from SQL", missing)
	case s.Unit.Generation != s.Generation || s.Unit.Generation == "" || s.Unit.Phase < PhaseRows:
		return refuse(UnitNotHydrated, "", "the unit %s is not complete in this generation: hydrate or restore it", UnitTag(s.Line, s.Family))
	case !s.Unit.Open:
		return refuse(UnitClosed, "", "the unit %s is closed for now", UnitTag(s.Line, s.Family))
	}
	return nil
}

// present is what has to be there of the line and its month.
func (s State) present() error {
	switch {
	case s.Moved:
		return refuse(LineMoved, "", "line %s is in another unit: read its family again", s.Line)
	case !s.Known:
		return refuse(UnknownLine, fieldLine, "line %s is not in the unit %s: import it", s.Line, UnitTag(s.Line, s.Family))
	case !s.Unit.MonthOpen:
		return refuse(MonthNotOpen, "", "month %v is not open: open it", s.Month)
	}
	return nil
}

// granted is what has to be there of allowances, and what must not be there of a family.
func (s State) granted() error {
	switch {
	case !s.Individual.Granted:
		return refuse(MissingAllowance, "", "line %s has no grant of %v: make its monthly grant, then send the event again", s.Line, s.Month)
	case s.Family != "" && !s.Shared.Granted:
		return refuse(MissingAllowance, "", "family %s has no grant of %v: make its monthly grant, then send the event again", s.Family, s.Month)
	}
	for _, usage := range []SharedUsage{s.DailyShared, s.MonthlyShared} {
		if err := s.belongs(usage); err != nil {
			return err
		}
	}
	return nil
}

func (s State) belongs(usage SharedUsage) error {
	switch {
	case usage == SharedUsage{}:
		return nil
	case s.Family == "" || usage.Family == "":
		return refuse(MissingFamily, "family_id", "line %s has %d bytes of shared usage and no family: put its family right, then rebuild its keys", s.Line, usage.Amount)
	case usage.Family != s.Family:
		return refuse(OtherFamily, "family_id", "line %s is in family %s, and its shared usage names %s: rebuild its keys", s.Line, s.Family, quoted(usage.Family))
	}
	return nil
}

// take moves the parts of a split from allowances to counters. The state that it returns counts if there is no error.
func (s State) take(split Split) (State, error) {
	if split.Individual > s.Individual.Amount || split.QoS > s.Individual.QoS || split.Shared > s.Shared.Amount {
		return s, refuse(Overdrawn, "", "line %s in %v: %d, %d and %d bytes are taken from %d own, %d shared and %d QoS: a grant is missing",
			s.Line, s.Month, split.Individual, split.Shared, split.QoS, s.Individual.Amount, s.Shared.Amount, s.Individual.QoS)
	}
	s.Individual.Amount -= split.Individual
	s.Individual.QoS -= split.QoS
	s.Shared.Amount -= split.Shared
	ok := raise(&s.DailyTotal, split.Served()) &&
		raise(&s.DailyApp.Individual, split.Individual) && raise(&s.DailyApp.Shared, split.Shared) && raise(&s.DailyApp.QoS, split.QoS) &&
		raise(&s.DailyShared.Amount, split.Shared) && raise(&s.MonthlyShared.Amount, split.Shared)
	if !ok {
		return s, refuse(Overflow, "", "a counter of line %s in %v would pass %d", s.Line, s.Day, int64(MaxAmount))
	}
	if split.Shared > 0 {
		s.DailyShared.Family, s.MonthlyShared.Family = s.Family, s.Family
	}
	return s, nil
}

func raise(counter *int64, by int64) (ok bool) {
	*counter, ok = add(*counter, by)
	return ok
}
