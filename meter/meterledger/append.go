package meterledger

import (
	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// insertDone adds those rows of a generation whose events are not there, in the form that is the cheapest for the server,
// and returns how many were added.
func (l *Ledger) insertDone(tx *database.Tx, g meter.Generation, rows []meter.Row) (int64, error) {
	if !l.db.IsPostgres() {
		return tx.ExecValues(l.sql.append, doneValues(g, rows))
	}
	text, err := database.Batch(doneForms(rows))
	if err != nil {
		return 0, err
	}
	return tx.Exec(l.sql.append, text, string(g))
}

// doneForm is a row of the done log in a batch.
type doneForm struct {
	Line          string      `json:"l"`
	Event         string      `json:"e"`
	App           string      `json:"a"`
	Bytes         int64       `json:"n"`
	At            int64       `json:"t"`
	Digest        string      `json:"h"`
	Individual    int64       `json:"i"`
	Shared        int64       `json:"s"`
	QoS           int64       `json:"q"`
	Blocked       int64       `json:"b"`
	Uncounted     int64       `json:"u"`
	Why           string      `json:"w"`
	Speed         int64       `json:"p"`
	Day           meter.Day   `json:"d"`
	Month         meter.Month `json:"m"`
	Family        string      `json:"f"`
	LineVersion   int64       `json:"v"`
	FamilyVersion int64       `json:"x"`
}

func doneForms(rows []meter.Row) []doneForm {
	forms := make([]doneForm, len(rows))
	for i, row := range rows {
		e, r := row.Event, row.Result
		forms[i] = doneForm{
			e.Line, e.ID, e.App, e.Bytes, e.At.UnixMicro(), e.Digest().String(),
			r.Individual, r.Shared, r.QoS, r.Blocked, r.Uncounted, r.Why.String(), r.Speed,
			r.Day, r.Month, r.Family, r.LineVersion, r.FamilyVersion,
		}
	}
	return forms
}

// doneValues are the rows in the order of the columns of mysql/append.sql.
func doneValues(g meter.Generation, rows []meter.Row) *database.Values {
	v := &database.Values{}
	for _, row := range rows {
		e, r, digest := row.Event, row.Result, row.Event.Digest()
		v.Row()
		for _, text := range [...]string{e.Line, e.ID, e.App, string(digest[:]), r.Why.String(), r.Family, string(g)} {
			v.Text(text)
		}
		for _, n := range [...]int64{
			e.Bytes, e.At.UnixMicro(), r.Individual, r.Shared, r.QoS, r.Blocked, r.Uncounted, r.Speed,
			int64(r.Day), int64(r.Month), r.LineVersion, r.FamilyVersion,
		} {
			v.Number(n)
		}
	}
	return v
}
