// Package form is how a record stands in a row of a SQL database.
package form

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Row is a record as its table holds it. The packed record is the machine's stored form, apart from two
// things: its answer has a column of its own, so that a listing need not read it; and its times are
// relative to the columns claimed_at and, for an answer, forget_at. The last is what lets one statement
// write a record by the server's clock: the bytes are the same at any time.
type Row struct {
	Answered  bool
	ClaimedAt machine.Instant
	ForgetAt  machine.Instant // zero: never
	Record    []byte
	Answer    []byte // nil: none
}

// Pack returns the row of a record.
func Pack(r *machine.Record) Row {
	packed := Row{Answered: r.State == machine.Completed, ClaimedAt: r.Claimed, ForgetAt: r.ForgottenAt()}
	relative := *r
	for _, t := range times(&relative, r.Claimed, r.Finished) {
		*t.at = distance(*t.at, t.base)
	}
	relative.Response = machine.Response{}
	packed.Record, _ = relative.AppendBinary(make([]byte, 0, 256)) // never fails
	if !r.Response.IsZero() {
		packed.Answer = packAnswer(r.Response)
	}
	return packed
}

// Unpack returns the record of a row. An answer that was not read is left out.
func Unpack(digest machine.Digest, packed Row) (*machine.Record, error) {
	r, err := machine.DecodeRecord(digest, packed.Record)
	if err != nil {
		return nil, store.Corrupt(digest, err)
	}
	finished := packed.ForgetAt - (r.RememberUntil - 1) // which is its distance from there, plus one
	for _, t := range times(r, packed.ClaimedAt, finished) {
		*t.at = place(*t.at, t.base)
	}
	if packed.Answer != nil {
		if r.Response, err = UnpackAnswer(packed.Answer); err != nil {
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

// UnpackAnswer returns the response that an answer holds. It keeps a reference to b.
func UnpackAnswer(b []byte) (r machine.Response, err error) {
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

// OfNoGeneration is a record as a store keeps it that has no generations.
func OfNoGeneration(r *machine.Record) *machine.Record {
	copied := *r
	copied.Generation = machine.Generation{}
	return &copied
}

// Same reports whether two records are the same in every field.
func Same(a, b *machine.Record) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := Pack(a), Pack(b)
	return x.Answered == y.Answered && x.ClaimedAt == y.ClaimedAt && x.ForgetAt == y.ForgetAt &&
		bytes.Equal(x.Record, y.Record) && bytes.Equal(x.Answer, y.Answer)
}
