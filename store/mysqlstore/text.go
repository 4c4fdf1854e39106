package mysqlstore

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/machine"
)

// text is a statement in which a question mark stands for a value, and brackets for as many values, or rows of
// values, as there are, with commas between. It is sent with the values written into it, which saves the round
// trip that prepares a statement and lets several go out together. Values are numbers and bytes in hexadecimal
// digits, so nothing of them is ever read as SQL, whatever the mode of the session.
type text struct{ parts []part }

// part is some SQL, and what follows it.
type part struct {
	sql  string
	then byte  // '?' a value, '[' rows, 0 nothing
	row  *text // of rows
}

func newText(sql string) text {
	var t text
	for {
		at := strings.IndexAny(sql, "?[")
		if at < 0 {
			t.parts = append(t.parts, part{sql: sql})
			return t
		}
		p := part{sql: sql[:at], then: sql[at]}
		sql = sql[at+1:]
		if p.then == '[' {
			end := strings.IndexByte(sql, ']')
			row := newText(sql[:end])
			p.row, sql = &row, sql[end+1:]
		}
		t.parts = append(t.parts, p)
	}
}

// rows is how many there are, and how the values of each are written, one after the other.
type rows struct {
	n      int
	values func(i int, w *writing)
}

// writing is a statement that is being written.
type writing struct {
	to    []byte
	parts []part
}

// append appends the statement with its values.
func (t text) append(to []byte, values ...any) []byte {
	w := writing{to, t.parts}
	w.sql()
	for _, v := range values {
		switch v := v.(type) {
		case rows:
			w.rows(v)
		case machine.Digest:
			w.bytes(v[:])
		case []byte:
			w.bytes(v)
		case machine.Instant:
			w.number(int64(v))
		case int64:
			w.number(v)
		case int:
			w.number(int64(v))
		case uint32:
			w.number(int64(v))
		}
	}
	return w.to
}

// with returns the statement with its values.
func (t text) with(values ...any) string { return string(t.append(nil, values...)) }

// sql writes the SQL that comes before the next value.
func (w *writing) sql() {
	if len(w.parts) > 0 {
		w.to = append(w.to, w.parts[0].sql...)
	}
}

func (w *writing) next() {
	w.parts = w.parts[1:]
	w.sql()
}

func (w *writing) number(v int64) {
	w.to = strconv.AppendInt(w.to, v, 10)
	w.next()
}

// bytes writes bytes, nil as NULL.
func (w *writing) bytes(b []byte) {
	if b == nil {
		w.to = append(w.to, "NULL"...)
	} else {
		w.to = append(w.to, 'x', '\'')
		w.to = hex.AppendEncode(w.to, b)
		w.to = append(w.to, '\'')
	}
	w.next()
}

func (w *writing) rows(r rows) {
	for i := range r.n {
		if i > 0 {
			w.to = append(w.to, ',')
		}
		row := writing{w.to, w.parts[0].row.parts}
		row.sql()
		r.values(i, &row)
		w.to = row.to
	}
	w.next()
}

// digests are rows of digests.
func digests(all []machine.Digest) rows {
	return rows{len(all), func(i int, w *writing) { w.bytes(all[i][:]) }}
}
