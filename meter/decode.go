package meter

import (
	"strings"
	"time"
)

// MaxEventText is how long the JSON of an event may be, in bytes.
const MaxEventText = 4096

// DecodeEvent reads one event:
//
//	{"event_id":"e-1","line_id":"+4915112345","app_id":"video","bytes":1048576,"occurred_at":"2026-03-01T12:00:00Z"}
//
// All five fields have to be there, once, by exactly these names, and nothing else. Bytes is a number in digits alone:
// not 1e6, 1.0 or "1". An error is a [*Refusal] that says what to change.
func DecodeEvent(text []byte) (Event, error) {
	if len(text) > MaxEventText {
		return Event{}, refuse(TooLarge, "", "an event has at most %d bytes, and this one %d", MaxEventText, len(text))
	}
	var d eventDecoder
	if err := (&scanner{input: text}).object(d.field); err != nil {
		return Event{}, err
	}
	for i, name := range eventFields {
		if !d.seen[i] {
			return Event{}, refuse(MissingField, name, "an event needs it")
		}
	}
	return d.event, d.event.Validate()
}

var eventFields = [...]string{fieldID, fieldLine, fieldApp, fieldBytes, fieldAt}

type eventDecoder struct {
	event Event
	seen  [len(eventFields)]bool
}

func (d *eventDecoder) field(name []byte, s *scanner) (err error) {
	for i, known := range eventFields {
		if string(name) == known {
			if d.seen[i] {
				return refuse(DuplicateField, known, "it is there twice: send it once")
			}
			d.seen[i] = true
		}
	}
	switch string(name) {
	case fieldID:
		d.event.ID, err = s.text(fieldID)
	case fieldLine:
		d.event.Line, err = s.text(fieldLine)
	case fieldApp:
		d.event.App, err = s.text(fieldApp)
	case fieldBytes:
		d.event.Bytes, err = s.amount(fieldBytes)
	case fieldAt:
		d.event.At, err = s.instant(fieldAt)
	default:
		err = refuse(UnknownField, "", "%s is not a field of an event: leave it out. The fields are %s, %s, %s, %s and %s",
			quoted(name), fieldID, fieldLine, fieldApp, fieldBytes, fieldAt)
	}
	return err
}

func (s *scanner) text(field string) (string, error) {
	if s.peek() != '"' {
		return "", refuse(WrongType, field, "write it as a text, in double quotes")
	}
	text, err := s.quoted()
	return string(text), err
}

func (s *scanner) amount(field string) (int64, error) {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		return 0, refuse(WrongType, field, "write it as a number, without quotes")
	}
	number := s.number()
	n, ok := parseDecimal(string(number))
	if !ok || n == 0 {
		return 0, badBytes(number)
	}
	return n, nil
}

func (s *scanner) instant(field string) (time.Time, error) {
	text, err := s.text(field)
	if err != nil {
		return time.Time{}, err
	}
	at, ok := parseInstant(text)
	if !ok {
		return time.Time{}, refuse(BadTime, field, "%s: write it as 2026-03-01T12:00:00Z or 2026-03-01T13:00:00.25+01:00 (RFC 3339)", quoted(text))
	}
	return at, nil
}

// parseInstant reads RFC 3339. Package time is more generous with hours, commas and offsets, so what it has read is
// written again and compared.
func parseInstant(text string) (time.Time, bool) {
	const whole = len("2026-03-01T12:00:00")
	at, err := time.ParseInLocation(time.RFC3339, text, time.UTC)
	if err != nil || len(text) <= whole {
		return at, false
	}
	offset := text[whole:]
	if offset[0] == '.' {
		offset = strings.TrimLeft(offset[1:], "0123456789")
	}
	written := at.Format("2006-01-02T15:04:05-07:00")
	if offset == "Z" || offset == "-00:00" {
		offset = "+00:00"
	}
	_, seconds := at.Zone()
	return time.UnixMicro(at.UnixMicro()).UTC(), written == text[:whole]+offset && seconds > -24*3600 && seconds < 24*3600
}
