package pgstore

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// row is a record as its table holds it. The packed record is the machine's stored form, apart from two
// things: its answer has a column of its own, so that a listing need not read it; and its times are
// relative to the columns claimed_at and, for an answer, forget_at. The last is what lets one statement
// write a record by the server's clock: the bytes are the same at any time.
type row struct {
	answered  bool
	claimedAt machine.Instant
	forgetAt  machine.Instant // zero: never
	record    []byte
	answer    []byte // nil: none
}

// pack returns the row of a record.
func pack(r *machine.Record) row {
	packed := row{answered: r.State == machine.Completed, claimedAt: r.Claimed, forgetAt: r.ForgottenAt()}
	relative := *r
	for _, t := range times(&relative, r.Claimed, r.Finished) {
		*t.at = distance(*t.at, t.base)
	}
	relative.Response = machine.Response{}
	packed.record, _ = relative.AppendBinary(make([]byte, 0, 256)) // never fails
	if !r.Response.IsZero() {
		packed.answer = packAnswer(r.Response)
	}
	return packed
}

// unpack returns the record of a row. An answer that was not read is left out.
func unpack(digest machine.Digest, packed row) (*machine.Record, error) {
	r, err := machine.DecodeRecord(digest, packed.record)
	if err == nil && packed.answered != (r.State == machine.Completed) {
		err = errors.New("record: in the wrong table")
	}
	if err != nil {
		return nil, store.Corrupt(digest, err)
	}
	finished := packed.forgetAt - (r.RememberUntil - 1) // which is its distance from there, plus one
	for _, t := range times(r, packed.claimedAt, finished) {
		*t.at = place(*t.at, t.base)
	}
	if packed.answer != nil {
		if r.Response, err = unpackAnswer(packed.answer); err != nil {
			return nil, store.Corrupt(digest, err)
		}
	}
	return r, nil
}

// timed is one of a record's times, and the instant that it is relative to.
type timed struct {
	at   *machine.Instant
	base machine.Instant
}

// times lists those of a record.
func times(r *machine.Record, claimed, finished machine.Instant) [6]timed {
	if r.State != machine.Completed {
		finished = claimed
	}
	return [...]timed{
		{&r.Claimed, claimed}, {&r.LeaseEnd, claimed}, {&r.Started, claimed},
		{&r.Finished, finished}, {&r.WindowEnd, finished}, {&r.RememberUntil, finished},
	}
}

// distance returns how far an instant is from its base, such that zero still means "not set".
func distance(t, base machine.Instant) machine.Instant {
	switch {
	case t == 0:
		return 0
	case t >= base:
		return t - base + 1
	}
	return t - base
}

// place is the reverse of distance.
func place(distance, base machine.Instant) machine.Instant {
	switch {
	case distance == 0:
		return 0
	case distance > 0:
		return base + distance - 1
	}
	return base + distance
}

// The form of an answer: a version byte, flags, codec, the name of the sealing key and the digest where
// there are such, the data, and a CRC-32C of all that.
const (
	answerVersion = 1

	answerNotKept  = 1 << 0
	answerSealed   = 1 << 1
	answerDigested = 1 << 2 // the digest is not to be had from the data

	// digestedData is from which size on the digest is stored although it could be made again: that
	// would cost a reader more than the room.
	digestedData = 4096
)

func packAnswer(r machine.Response) []byte {
	var flags byte
	if r.NotKept {
		flags |= answerNotKept
	}
	if r.Sealed != "" {
		flags |= answerSealed
	}
	if len(r.Data) > digestedData || sha256.Sum256(r.Data) != r.Digest {
		flags |= answerDigested
	}
	b := make([]byte, 0, len(r.Data)+len(r.Codec)+len(r.Sealed)+len(r.Digest)+16)
	b = append(b, answerVersion, flags)
	b = append(binary.AppendUvarint(b, uint64(len(r.Codec))), r.Codec...)
	if flags&answerSealed != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(r.Sealed))), r.Sealed...)
	}
	if flags&answerDigested != 0 {
		b = append(b, r.Digest[:]...)
	}
	b = append(b, r.Data...)
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

var errAnswer = errors.New("answer: damaged, or written by a newer version")

// unpackAnswer keeps a reference to b.
func unpackAnswer(b []byte) (r machine.Response, err error) {
	if len(b) < 6 || b[0] != answerVersion || b[1]&^(answerNotKept|answerSealed|answerDigested) != 0 {
		return r, errAnswer
	}
	body := b[:len(b)-4]
	if checksum(body) != binary.BigEndian.Uint32(b[len(body):]) {
		return r, errAnswer
	}
	flags, rest := body[1], body[2:]
	text := func() string {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(rest)-size) {
			err = errAnswer
			return ""
		}
		s := string(rest[size : size+int(n)])
		rest = rest[size+int(n):]
		return s
	}
	r.NotKept = flags&answerNotKept != 0
	r.Codec = text()
	if flags&answerSealed != 0 {
		r.Sealed = text()
	}
	if err != nil || r.Codec == "" {
		return machine.Response{}, errAnswer
	}
	if flags&answerDigested == 0 {
		r.Data, r.Digest = rest, sha256.Sum256(rest)
		return r, nil
	}
	if len(rest) < len(r.Digest) {
		return machine.Response{}, errAnswer
	}
	copy(r.Digest[:], rest)
	r.Data = rest[len(r.Digest):]
	return r, nil
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

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
