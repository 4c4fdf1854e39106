package meter

import (
	"strconv"
	"strings"
)

// Result is what was decided about an event, and where: all that the done log needs to know of it, and the
// answer that is replayed to whoever asks again.
type Result struct {
	Split
	Why Causes
	// Speed is that of the QoS part, in kbit/s; 0 if there is no such part, or no policy says it.
	Speed int64

	Day    Day
	Month  Month
	Family string // of the line when it was decided; empty if it was in none
	// Generation is that of the bucket, and the versions are the numbers that the change has among those of the line and
	// of the family in this generation. FamilyVersion is 0 if the change was none of the family's.
	Generation    Generation
	LineVersion   int64
	FamilyVersion int64
}

// Generation names one life of the data in Redis: up to 32 lower-case hexadecimal digits.
type Generation string

// Valid reports whether it can be a generation.
func (g Generation) Valid() bool {
	return g != "" && len(g) <= 32 && strings.Trim(string(g), "0123456789abcdef") == ""
}

// resultForm heads the text of a result. It changes with the list of fields.
const resultForm = "1"

// Text returns the result's canonical text: the number of the form, then each field that is not zero or empty, as
// ;name=value. Two results are equal if their texts are.
//
//	1;d=20260310;m=202603;i=700;q=300;why=allowance_used;lv=12;g=9f3c
func (r Result) Text() string { return string(r.AppendText(make([]byte, 0, 128))) }

// AppendText appends what [Result.Text] returns.
func (r Result) AppendText(b []byte) []byte {
	b = append(b, resultForm...)
	b = appendNumber(b, "d", int64(r.Day))
	b = appendNumber(b, "m", int64(r.Month))
	b = appendNumber(b, "i", r.Individual)
	b = appendNumber(b, "s", r.Shared)
	b = appendNumber(b, "q", r.QoS)
	b = appendNumber(b, "b", r.Blocked)
	b = appendNumber(b, "u", r.Uncounted)
	b = appendField(b, "why", r.Why.String())
	b = appendNumber(b, "sp", r.Speed)
	b = appendField(b, "f", r.Family)
	b = appendNumber(b, "lv", r.LineVersion)
	b = appendNumber(b, "fv", r.FamilyVersion)
	return appendField(b, "g", string(r.Generation))
}

func appendNumber(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendName(b, name), n, 10)
}

func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return append(appendName(b, name), value...)
}

func appendName(b []byte, name string) []byte {
	b = append(b, ';')
	b = append(b, name...)
	return append(b, '=')
}

// ParseResult reads what [Result.Text] wrote, and nothing else.
func ParseResult(text string) (Result, error) {
	var r Result
	rest, ok := strings.CutPrefix(text, resultForm+";")
	if !ok || len(text) > MaxEventText {
		return r, badResult(text, "does not begin with a form that is known: upgrade this program")
	}
	for part := range strings.SplitSeq(rest, ";") {
		name, value, _ := strings.Cut(part, "=")
		if !r.set(name, value) {
			return Result{}, badResult(text, "has a bad "+quoted(name))
		}
	}
	var canonical [256]byte
	if string(r.AppendText(canonical[:0])) != text {
		return Result{}, badResult(text, "is not in canonical form")
	}
	return r, r.Validate()
}

func (r *Result) set(name, value string) bool {
	var err error
	switch name {
	case "d":
		r.Day, err = ParseDay(value)
	case "m":
		r.Month, err = ParseMonth(value)
	case "why":
		r.Why, err = ParseCauses(value)
	case "f":
		r.Family = value
	case "g":
		r.Generation = Generation(value)
	default:
		number, ok := r.number(name), false
		if number != nil {
			*number, ok = parseDecimal(value)
		}
		return ok
	}
	return err == nil
}

// number returns where the number of a field is, or nil if the field is none.
func (r *Result) number(name string) *int64 {
	switch name {
	case "i":
		return &r.Individual
	case "s":
		return &r.Shared
	case "q":
		return &r.QoS
	case "b":
		return &r.Blocked
	case "u":
		return &r.Uncounted
	case "sp":
		return &r.Speed
	case "lv":
		return &r.LineVersion
	case "fv":
		return &r.FamilyVersion
	}
	return nil
}

func badResult(text, problem string) *Refusal {
	return refuse(BadRow, "result", "%s %s", quoted(text), problem)
}

// Validate returns nil, or a [*Refusal] of a result that no decision can have had.
func (r Result) Validate() error {
	amount, ok := r.Amount()
	switch {
	case !ok || amount == 0:
		return refuse(BadRow, "result", "its parts are not those of an amount from 1 to %d", int64(MaxAmount))
	case r.Uncounted > 0 && r.Uncounted != amount:
		return refuse(BadRow, "result", "a part of it is uncounted: all is, or nothing")
	case !r.Day.Valid() || !r.Month.Valid():
		return refuse(BadRow, "result", "it has no day or no month")
	case r.Family != "" && !ValidID(r.Family):
		return badID("family_id", r.Family)
	case r.Shared > 0 && r.Family == "":
		return refuse(MissingFamily, "family_id", "%d bytes are from a shared allowance, and no family is named: find the family in the line's history", r.Shared)
	case r.Speed < 0 || r.Speed > 0 && r.QoS == 0:
		return refuse(BadRow, "result", "it has a speed, and no part at that speed")
	case r.LineVersion < 1 || r.FamilyVersion < 0 || (r.FamilyVersion > 0) != (r.Shared > 0):
		return refuse(BadRow, "result", "versions %d and %d do not fit its parts: each change has the line's, one of the shared allowance the family's too",
			r.LineVersion, r.FamilyVersion)
	case !r.Generation.Valid():
		return refuse(BadRow, "result", "it has no generation")
	}
	return nil
}
