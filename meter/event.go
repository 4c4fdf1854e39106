package meter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"
)

// Limits of what names something. Ids are compared as bytes.
const (
	MaxID      = 64  // bytes in the id of a line, a family or an app
	MaxEventID = 128 // bytes in the id of an event
)

// The fields of an event.
const (
	fieldID    = "event_id"
	fieldLine  = "line_id"
	fieldApp   = "app_id"
	fieldBytes = "bytes"
	fieldAt    = "occurred_at"
)

// Event says that a line used an amount of bytes with an app.
type Event struct {
	// ID is the event's name among those of its line: (Line, ID) is its identity.
	ID    string
	Line  string
	App   string
	Bytes int64
	// At is when it happened, in microseconds: what is finer is dropped.
	At time.Time
}

// Validate returns nil, or a [*Refusal] of an event that is none. [DecodeEvent] has done it.
func (e Event) Validate() error {
	switch {
	case !ValidEventID(e.ID):
		return refuse(BadID, fieldID, "%s: write 1 to %d visible ASCII characters, without spaces", quoted(e.ID), MaxEventID)
	case !ValidID(e.Line):
		return badID(fieldLine, e.Line)
	case !ValidID(e.App):
		return badID(fieldApp, e.App)
	case e.Bytes <= 0:
		return badBytes(strconv.FormatInt(e.Bytes, 10))
	case e.At.UTC().Year() <= minYear || e.At.UTC().Year() >= maxYear:
		return refuse(BadTime, fieldAt, "the year %d is outside of %d to %d", e.At.UTC().Year(), minYear+1, maxYear-1)
	}
	return nil
}

func badID(field, id string) *Refusal {
	return refuse(BadID, field, "%s: write 1 to %d of A-Z a-z 0-9 . _ - + @", quoted(id), MaxID)
}

func badBytes[T string | []byte](number T) *Refusal {
	return refuse(BadBytes, fieldBytes, "%s: write a whole number from 1 to %d, in digits alone", quoted(number), int64(MaxAmount))
}

// ValidID reports whether a text can be the id of a line, a family or an app. These ids are parts of Redis
// keys, of fields of hashes and of policies, so what separates there is not allowed in them.
func ValidID(id string) bool {
	if id == "" || len(id) > MaxID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '.', c == '_', c == '-', c == '+', c == '@':
		default:
			return false
		}
	}
	return true
}

// ValidEventID reports whether a text can be the id of an event.
func ValidEventID(id string) bool {
	if id == "" || len(id) > MaxEventID {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// Identity returns the text that is the same for two deliveries of one event and for no other event: the
// key under which its deduction is recorded. No line has a slash.
func (e Event) Identity() string { return e.Line + "/" + e.ID }

// Digest is SHA-256 over the content of an event.
type Digest [sha256.Size]byte

// String returns the digest in lower-case hex.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// digestForm heads what is digested. It changes with the list of fields.
const digestForm = 1

// Digest tells two events of one identity apart: the same content has the same digest, however its JSON was
// written. Fields are framed by their lengths.
func (e Event) Digest() Digest {
	b := make([]byte, 1, 512)
	b[0] = digestForm
	for _, field := range []string{e.Line, e.ID, e.App} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(field)))
		b = append(b, field...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(e.Bytes))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMicro()))
	return sha256.Sum256(b)
}

// AppendJSON appends the event's canonical JSON, which [DecodeEvent] reads: one line, fields in the order of
// the documentation, the time in UTC.
func (e Event) AppendJSON(b []byte) []byte {
	b = append(b, `{"`+fieldID+`":`...)
	b = strconv.AppendQuote(b, e.ID) // of visible ASCII, in which JSON and Go quote alike
	b = append(b, `,"`+fieldLine+`":"`...)
	b = append(b, e.Line...)
	b = append(b, `","`+fieldApp+`":"`...)
	b = append(b, e.App...)
	b = append(b, `","`+fieldBytes+`":`...)
	b = strconv.AppendInt(b, e.Bytes, 10)
	b = append(b, `,"`+fieldAt+`":"`...)
	b = e.At.UTC().AppendFormat(b, "2006-01-02T15:04:05.999999Z")
	return append(b, `"}`...)
}

// UnitTag names the unit that decides together: the family, or a line without one. Its bucket is that of the tag.
func UnitTag(line, family string) string {
	if family != "" {
		return "f:" + family
	}
	return "l:" + line
}
