package meter

import (
	"errors"
	"fmt"
)

// GrantKind says what a grant is for.
type GrantKind uint8

const (
	// Monthly is the grant that an owner has of each month. There is one; making it is opening the owner's month.
	Monthly GrantKind = iota
	// TopUp is one beside it, of which there may be any number.
	TopUp
)

var grantKinds = [...]string{"monthly", "topup"}

// String returns "monthly" or "topup".
func (k GrantKind) String() string {
	if int(k) < len(grantKinds) {
		return grantKinds[k]
	}
	return "invalid"
}

// ParseGrantKind reads what [GrantKind.String] wrote.
func ParseGrantKind(text string) (GrantKind, error) {
	for i, name := range grantKinds {
		if name == text {
			return GrantKind(i), nil
		}
	}
	return 0, fmt.Errorf("%s is not a kind of grant: write monthly or topup", quoted(text))
}

// Grant raises the allowances that an owner, a line or a family, has of a month. It is a row that is never changed: a mistake
// is put right by another.
type Grant struct {
	ID     string // as of an event, and unlike that, unique by itself
	Kind   GrantKind
	Line   string // the owner: either this
	Family string // or this
	Month  Month

	Individual, QoS int64 // to a line
	Shared          int64 // to a family
}

// Validate returns nil, or a [*Refusal] of a grant that cannot be made.
func (g Grant) Validate() error {
	switch {
	case !ValidEventID(g.ID):
		return refuse(BadID, "grant_id", "%s: write 1 to %d visible ASCII characters, without spaces", quoted(g.ID), MaxEventID)
	case g.Kind > TopUp:
		return refuse(BadGrant, "kind", "write monthly or topup")
	case (g.Line == "") == (g.Family == ""):
		return refuse(BadGrant, "", "a grant is to a line or to a family: name one of them")
	case g.Line != "" && !ValidID(g.Line):
		return badID(fieldLine, g.Line)
	case g.Family != "" && !ValidID(g.Family):
		return badID("family_id", g.Family)
	case !g.Month.Valid():
		return refuse(BadGrant, "month", "%v is not a month: write yyyyMM", g.Month)
	case g.Individual < 0 || g.QoS < 0 || g.Shared < 0:
		return refuse(BadGrant, "", "a grant takes nothing away: amounts are 0 or more")
	case g.Line != "" && g.Shared > 0 || g.Family != "" && (g.Individual > 0 || g.QoS > 0):
		return refuse(BadGrant, "", "a line is granted individual and qos, and a family shared")
	case g.Kind == TopUp && g.Individual == 0 && g.QoS == 0 && g.Shared == 0:
		return refuse(BadGrant, "", "a top-up of nothing: name an amount")
	}
	return nil
}

// owner names whom a grant is to, in the form of [UnitTag].
func (g Grant) owner() string { return UnitTag(g.Line, g.Family) }

// CheckGrant says whether a grant may be added to those that were made before: a row's id is new, an owner has one
// monthly grant of a month, and all grants of an owner's month, one kind of allowance at a time, sum up to at most [MaxAmount].
// Because usage never passes what was granted, no sum of usage can then overflow, in whatever order it is made.
func CheckGrant(before []Grant, g Grant) error {
	if err := g.Validate(); err != nil {
		return err
	}
	individual, shared, qos := WideOf(g.Individual), WideOf(g.Shared), WideOf(g.QoS)
	for _, b := range before {
		if b.ID == g.ID {
			return refuse(GrantedTwice, "grant_id", "%s is the id of another grant: choose a new one", quoted(g.ID))
		}
		if b.owner() != g.owner() || b.Month != g.Month {
			continue
		}
		if b.Kind == Monthly && g.Kind == Monthly {
			return grantedTwice(g)
		}
		individual, shared, qos = individual.Plus(WideOf(b.Individual)), shared.Plus(WideOf(b.Shared)), qos.Plus(WideOf(b.QoS))
	}
	for _, sum := range []Wide{individual, shared, qos} {
		if _, ok := sum.Amount(); !ok {
			return refuse(Overflow, "", "grants of %v to %s would sum up to %v, which is more than %d: grant less", g.Month, g.owner(), sum, int64(MaxAmount))
		}
	}
	return nil
}

func grantedTwice(g Grant) *Refusal {
	return refuse(GrantedTwice, "", "%s has its monthly grant of %v: make a top-up", g.owner(), g.Month)
}

// ApplyGrant raises the allowances of a state, which is that of the line or the family that the grant is to; app and
// day of it do not matter. The version of the owner is raised. An error is a [*Refusal].
func ApplyGrant(state State, g Grant, policies Policies) (State, error) {
	if err := g.Validate(); err != nil {
		return state, err
	}
	if g.Month != state.Month || g.Line != "" && g.Line != state.Line || g.Family != "" && g.Family != state.Family {
		return state, refuse(OtherState, "", "the state is that of line %s, family %s in %v, and the grant of %v is to %s: load that",
			state.Line, state.Family, state.Month, g.Month, g.owner())
	}
	if err := state.ready(policies); err != nil {
		return state, err
	}
	if g.Line != "" {
		if err := state.present(); err != nil && (g.Kind != Monthly || !errors.Is(err, MonthNotOpen)) {
			return state, err
		}
	}
	next := state
	if err := next.grant(g); err != nil {
		return state, err
	}
	version := &next.LineVersion
	if g.Family != "" {
		version = &next.FamilyVersion
	}
	if !raise(version, 1) {
		return state, refuse(Overflow, "", "the versions of %s are used up: hydrate again, which begins at 0", g.owner())
	}
	return next, nil
}

// grant adds to the allowances. The state counts if there is no error.
func (s *State) grant(g Grant) error {
	granted := &s.Individual.Granted
	if g.Family != "" {
		granted = &s.Shared.Granted
	}
	switch {
	case *granted && g.Kind == Monthly:
		return grantedTwice(g)
	case !*granted && g.Kind == TopUp:
		return refuse(MonthNotOpen, "", "%s has no grant of %v yet: open the month", g.owner(), g.Month)
	}
	*granted = true
	if !raise(&s.Individual.Amount, g.Individual) || !raise(&s.Individual.QoS, g.QoS) || !raise(&s.Shared.Amount, g.Shared) {
		return refuse(Overflow, "", "an allowance of %s in %v would pass %d: grant less", g.owner(), g.Month, int64(MaxAmount))
	}
	return nil
}
