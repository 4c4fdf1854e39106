package pgstore

import (
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// row is a record as its table holds it; see [form.Row].
type row struct {
	answered  bool
	claimedAt machine.Instant
	forgetAt  machine.Instant // zero: never
	record    []byte
	answer    []byte // nil: none
}

// pack returns the row of a record.
func pack(r *machine.Record) row {
	packed := form.Pack(r)
	return row{packed.Answered, packed.ClaimedAt, packed.ForgetAt, packed.Record, packed.Answer}
}

// unpack returns the record of a row. An answer that was not read is left out.
func unpack(digest machine.Digest, packed row) (*machine.Record, error) {
	r, err := form.Unpack(digest, form.Row{ClaimedAt: packed.claimedAt, ForgetAt: packed.forgetAt, Record: packed.record, Answer: packed.answer})
	if err == nil && packed.answered != (r.State == machine.Completed) {
		return nil, store.Corrupt(digest, errors.New("record: in the wrong table"))
	}
	return r, err
}

// head and tail are the halves under which a digest is kept.
func head(d machine.Digest) pgtype.UUID { return pgtype.UUID{Bytes: [16]byte(d[:16]), Valid: true} }
func tail(d machine.Digest) pgtype.UUID { return pgtype.UUID{Bytes: [16]byte(d[16:]), Valid: true} }

// whole puts the halves together.
func whole(head, tail pgtype.UUID) (d machine.Digest) {
	copy(d[:16], head.Bytes[:])
	copy(d[16:], tail.Bytes[:])
	return d
}

// lockOf returns the number of a key's advisory lock. It never changes: processes of different versions
// exclude each other by it.
func lockOf(d machine.Digest) int64 { return int64(binary.BigEndian.Uint64(d[:8])) }
