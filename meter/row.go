package meter

// Row is a row of the done log: an event and what was decided about it.
type Row struct {
	Event  Event
	Result Result
}

// Validate returns nil, or a [*Refusal] of a row that no deduction can have written.
func (r Row) Validate() error {
	if err := r.Event.Validate(); err != nil {
		return err
	}
	if err := r.Result.Validate(); err != nil {
		return err
	}
	if amount, _ := r.Result.Amount(); amount != r.Event.Bytes {
		return refuse(BadRow, fieldBytes, "the event has %d bytes, and the parts of its result are %d", r.Event.Bytes, amount)
	}
	return nil
}

// ApplyRow applies a row's split to a state as it stands. It decides nothing again: no policy is asked, and no version is
// raised, because the row has its own. Rows may be applied in any order, each once.
//
// The state is that of the row's line, app, day and month. A part that is from a shared allowance belongs to the family that
// the row names, which has to be the state's: a line that moves takes along only rows that are folded.
func ApplyRow(state State, row Row) (State, error) {
	if err := row.Validate(); err != nil {
		return state, err
	}
	e, r := row.Event, row.Result
	if state.Line != e.Line || state.App != e.App || state.Day != r.Day || state.Month != r.Month {
		return state, refuse(OtherState, "", "the state is that of line %s, app %s, %v in %v, and the row is of %s, %s, %v in %v: load that",
			state.Line, state.App, state.Day, state.Month, e.Line, e.App, r.Day, r.Month)
	}
	if r.Shared > 0 && r.Family != state.Family {
		return state, refuse(OtherFamily, "family_id", "the row's shared part is of family %s, and line %s is in %s: fold the line's rows before it moves",
			r.Family, state.Line, quoted(state.Family))
	}
	if err := state.granted(); err != nil {
		return state, err
	}
	next, err := state.take(r.Split)
	if err != nil {
		return state, err
	}
	return next, nil
}
