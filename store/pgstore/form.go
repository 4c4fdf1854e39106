package pgstore

import (
	"encoding/binary"
	"errors"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// unpack returns the record of a row. An answer that was not read is left out.
func unpack(digest machine.Digest, packed form.Row) (*machine.Record, error) {
	r, err := form.Unpack(digest, packed)
	if err == nil && packed.Answered != (r.State == machine.Completed) {
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
