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

// resultFields are the names of the fields in the text, in their order.
var resultFields = [...]string{"d", "m", "i", "s", "q", "b", "u", "why", "sp", "f", "lv", "fv", "g"}

// values returns the fields as texts, empty ones for those that are left out.
func (r Result) values() [len(resultFields)]string {
	return [...]string{
		r.Day.String(), r.Month.String(),
		positive(r.Individual), positive(r.Shared), positive(r.QoS), positive(r.Blocked), positive(r.Uncounted),
		r.Why.String(), positive(r.Speed), r.Family, positive(r.LineVersion), positive(r.FamilyVersion), string(r.Generation),
	}
}

func positive(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// Text returns the result's canonical text: the number of the form, then each field that is not zero or empty, as
// ;name=value. Two results are equal if their texts are.
//
//	1;d=20260310;m=202603;i=700;q=300;why=allowance_used;lv=12;g=9f3c
func (r Result) Text() string {
	var b strings.Builder
	b.WriteString(resultForm)
	for i, value := range r.values() {
		if value != "" {
			b.WriteString(";" + resultFields[i] + "=" + value)
		}
	}
	return b.String()
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
		if err := r.set(name, value); err != nil {
			return Result{}, badResult(text, "has a bad "+quoted(name))
		}
	}
	if r.Text() != text {
		return Result{}, badResult(text, "is not in canonical form")
	}
	return r, r.Validate()
}

func (r *Result) set(name, value string) (err error) {
	number := map[string]*int64{
		"i": &r.Individual, "s": &r.Shared, "q": &r.QoS, "b": &r.Blocked, "u": &r.Uncounted,
		"sp": &r.Speed, "lv": &r.LineVersion, "fv": &r.FamilyVersion,
	}[name]
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
		ok := number != nil
		if ok {
			*number, ok = parseDecimal(value)
		}
		if !ok {
			return BadRow
		}
	}
	return err
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
