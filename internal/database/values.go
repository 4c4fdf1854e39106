package database

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/store"
)

// Values are rows of values that are written into a statement: VALUES (…), (…). For large inserts that takes MariaDB half of
// what it takes to read a batch. Values are numbers and bytes in hexadecimal digits, so nothing of them is ever read as
// SQL. The zero Values are no rows.
type Values struct {
	text []byte
	rows int
	open bool // the row has no value yet
}

// Row begins a row, whose values follow.
func (v *Values) Row() {
	if v.rows > 0 {
		v.text = append(v.text, "),("...)
	}
	v.rows++
	v.open = true
}

// Text adds a text.
func (v *Values) Text(text string) {
	v.next()
	v.text = append(v.text, 'x', '\'')
	v.text = append(hex.AppendEncode(v.text, []byte(text)), '\'')
}

// Number adds a number.
func (v *Values) Number(n int64) {
	v.next()
	v.text = strconv.AppendInt(v.text, n, 10)
}

func (v *Values) next() {
	if !v.open {
		v.text = append(v.text, ',')
	}
	v.open = false
}

// ExecValues runs a statement of MariaDB or MySQL with rows of values where its one argument stands, and returns how many rows
// it changed.
func (t *Tx) ExecValues(s Statement, v *Values) (int64, error) {
	before, after, _ := strings.Cut(s.text, "?")
	result, err := t.tx.ExecContext(t.ctx, before+"("+string(v.text)+")"+after)
	if err != nil {
		return 0, store.Unavailable(err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, store.Unavailable(err)
	}
	return n, nil
}

// IsPostgres reports whether the server is PostgreSQL.
func (d *DB) IsPostgres() bool { return d.engine.folder() == postgresFolder }
