package meter

// Apply decides an event: what it is split into, why, and what the state is afterwards. It is the reference for the
// script that does it in Redis, which has to come to the same state and the same text of the result.
//
// The state is that of the event's line, app, day and month, and the policies have that line's own. An error
// is a [*Refusal]; the state is then as it was, and nothing may be recorded.
func Apply(state State, event Event, policies Policies) (State, Result, error) {
	if err := check(state, event, policies); err != nil {
		return state, Result{}, err
	}
	rule := policies.Rule(event.App, event.At)
	split, why := divide(event.Bytes, rule, used{
		individual: state.Individual.Amount, shared: state.Shared.Amount, qos: state.Individual.QoS,
		day: state.DailyTotal, app: state.DailyApp.sum(), taken: state.MonthlyShared.Amount,
	})
	next, err := state.take(split)
	if err == nil {
		next, err = next.count(split.Shared > 0)
	}
	if err != nil {
		return state, Result{}, err
	}
	result := Result{
		Split: split, Why: why, Day: state.Day, Month: state.Month, Family: state.Family,
		Generation: state.Generation, LineVersion: next.LineVersion,
	}
	if split.QoS > 0 {
		result.Speed = rule.Speed
	}
	if split.Shared > 0 {
		result.FamilyVersion = next.FamilyVersion
	}
	return next, result, nil
}

// check is what has to be so before an event is decided, in the order in which the script looks.
func check(s State, e Event, p Policies) error {
	if err := e.Validate(); err != nil {
		return err
	}
	day := p.Calendar.Day(e.At)
	if s.Line != e.Line || s.App != e.App || s.Day != day || s.Month != p.Calendar.MonthOf(day) {
		return refuse(OtherState, "", "the state is that of line %s, app %s, %v in %v, and the event is of %s, %s, %v in %v: load that",
			s.Line, s.App, s.Day, s.Month, e.Line, e.App, day, p.Calendar.MonthOf(day))
	}
	for _, step := range []func() error{
		func() error { return s.ready(p) },
		s.present,
		s.granted,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// count raises the versions: the line's with every decision, the family's if its allowance has changed.
func (s State) count(family bool) (State, error) {
	if !raise(&s.LineVersion, 1) || family && !raise(&s.FamilyVersion, 1) {
		return s, refuse(Overflow, "", "the versions of line %s are used up: hydrate again, which begins at 0", s.Line)
	}
	return s, nil
}

// sum returns what was used of the app, or [MaxAmount] if it is more than that.
func (u AppUsage) sum() int64 {
	sum, ok := add(u.Individual, u.Shared)
	if ok {
		sum, ok = add(sum, u.QoS)
	}
	if !ok {
		return MaxAmount
	}
	return sum
}
