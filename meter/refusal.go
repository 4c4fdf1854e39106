package meter

import (
	"fmt"
	"strconv"
)

// Reason says why something was refused. It is a word that programs compare, in Redis, in SQL and in
// answers. As an error it is found in a [*Refusal] by errors.Is.
type Reason string

// Reasons that lie in the event. It will be refused again, however often it is sent.
const (
	Malformed      Reason = "malformed"       // not one JSON object
	UnknownField   Reason = "unknown_field"   // a field that an event does not have
	DuplicateField Reason = "duplicate_field" // a field twice
	MissingField   Reason = "missing_field"   // a field is not there
	WrongType      Reason = "wrong_type"      // a number for a text, or the reverse
	BadID          Reason = "bad_id"          // an id that is empty, too long or has characters that ids have not
	BadBytes       Reason = "bad_bytes"       // no whole number from 1 to 2^63 - 1
	BadTime        Reason = "bad_time"        // not a time with its offset from UTC
	TooLarge       Reason = "too_large"       // more text than an event needs
	TooOld         Reason = "too_old"         // older than the retention
	InFuture       Reason = "in_future"       // later than clocks differ
	UnknownLine    Reason = "unknown_line"    // no such line
	UnknownApp     Reason = "unknown_app"     // no such app
	OtherContent   Reason = "other_content"   // this line's event of this id was another
)

// Reasons that lie in the state and that somebody has to put right.
const (
	MissingAllowance Reason = "missing_allowance" // no grant of the month for the line or its family
	MissingFamily    Reason = "missing_family_id" // shared usage of a line without a family
	OtherFamily      Reason = "other_family"      // shared usage that names another family than the line's
	Overflow         Reason = "overflow"          // a counter or an allowance would pass 2^63 - 1
	Overdrawn        Reason = "overdrawn"         // a row takes more than there is
	GrantedTwice     Reason = "granted_twice"     // a second monthly grant of a month, or an id twice
	BadGrant         Reason = "bad_grant"         // a grant that grants nothing, or to nobody
	BadRow           Reason = "bad_row"           // a row that no deduction can have written
	OtherState       Reason = "other_state"       // a state of another line, app, day or month than is asked about
)

// Reasons that pass. The same event is decided later.
const (
	GateClosed      Reason = "gate_closed"       // policy 8 is closed, or is not there
	PoliciesMissing Reason = "policies_missing"  // one of the global policies is not there
	UnitNotHydrated Reason = "unit_not_hydrated" // the unit is missing, of another generation, or not complete
	UnitClosed      Reason = "unit_closed"       // the unit is complete and not open, as during a move
	MonthNotOpen    Reason = "month_not_open"    // the month's allowances are not there yet
)

// LineMoved: the line is in another family by now. Who asks finds out which, and asks there.
const LineMoved Reason = "line_moved"

// Action is what is to be done about something that was refused.
type Action uint8

const (
	// Reject: it will not succeed as it is. An event becomes a dead letter.
	Reject Action = iota
	// Wait: the same may succeed later.
	Wait
	// LookUp: read again which family the line is in.
	LookUp
)

// String returns the action as a verb.
func (a Action) String() string {
	switch a {
	case Wait:
		return "wait"
	case LookUp:
		return "look up"
	}
	return "reject"
}

// Action returns what is to be done. An unknown reason is one to reject: waiting for it could take for ever.
func (r Reason) Action() Action {
	switch r {
	case GateClosed, PoliciesMissing, UnitNotHydrated, UnitClosed, MonthNotOpen:
		return Wait
	case LineMoved:
		return LookUp
	}
	return Reject
}

// Error implements error, so that errors.Is finds a reason.
func (r Reason) Error() string { return string(r) }

// Refusal is the error of everything in this package that says no. Nothing was changed.
type Refusal struct {
	Reason Reason
	// Field is the field of the event, or what in the state, it is about; empty if it is about all of it.
	Field string
	// Detail says what is wrong, and what to do.
	Detail string
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Field == "" {
		return fmt.Sprintf("%s: %s", r.Reason, r.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", r.Reason, r.Field, r.Detail)
}

// Unwrap returns the reason.
func (r *Refusal) Unwrap() error { return r.Reason }

func refuse(reason Reason, field, format string, arguments ...any) *Refusal {
	return &Refusal{reason, field, fmt.Sprintf(format, arguments...)}
}

// quoted shows what somebody sent: printable, and not all of it if it is long.
func quoted[T string | []byte](text T) string {
	const most = 48
	if len(text) > most {
		return strconv.QuoteToASCII(string(text[:most])) + "…"
	}
	return strconv.QuoteToASCII(string(text))
}
