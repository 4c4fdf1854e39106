package store

import (
	"bytes"
	"context"

	"github.com/reprise-dev/reprise/machine"
)

// Importer takes in records that were made in another store.
type Importer interface {
	// Import writes each record as it is (all fields but the generation, which is the importing store's)
	// unless [JudgeImport] says otherwise, and returns what became of each, in their order. Digests are not
	// repeated. It is for up to a thousand records. After an error any of them may have been written:
	// importing them again does no harm.
	Import(ctx context.Context, records []*machine.Record) ([]Import, error)
}

// Import is what became of an imported record.
type Import uint8

// What can become of one.
const (
	// ImportWritten: it is there now, and was not before.
	ImportWritten Import = iota + 1
	// ImportSame: it was there already.
	ImportSame
	// ImportKept: another record is there, which it does not replace.
	ImportKept
	// ImportOver: it counts as absent, and was not written.
	ImportOver
)

// JudgeImport decides for every [Importer], under the record's lock and at the store's time, what becomes of an
// imported record where there is another one, nil for none.
//
// It replaces only an earlier copy of its key: one that was claimed earlier, or at the same time and has a lower revision,
// and was not settled since. A record that was made here, after its key was forgotten in the other store, was
// claimed later than anything that the other store knows of the key.
func JudgeImport(there, imported *machine.Record, at machine.Instant) Import {
	if state, _ := imported.Judge(at); state == machine.Absent {
		return ImportOver
	}
	state, _ := there.Judge(at)
	switch {
	case state == machine.Absent:
		return ImportWritten
	case SameRecord(there, imported):
		return ImportSame
	case there.Settlement.At > imported.Settlement.At:
		return ImportKept
	case there.Claimed < imported.Claimed, there.Claimed == imported.Claimed && there.Revision < imported.Revision:
		return ImportWritten
	}
	return ImportKept
}

// SameRecord reports whether two records are the same in every field but the generation, which belongs to their
// stores.
func SameRecord(a, b *machine.Record) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Scope == b.Scope && bytes.Equal(storedForm(a), storedForm(b))
}

func storedForm(r *machine.Record) []byte {
	copied := *r
	copied.Generation = machine.Generation{}
	form, _ := copied.AppendBinary(nil) // never fails
	return form
}
