package machine

import (
	"encoding/binary"
	"hash/crc32"
)

// The stored form: a version byte, the fields in the order below, a list of extensions that later
// versions may add to, and a CRC-32C of all that. The scope's digest is not in it: it is the key
// under which the store keeps the record.
const formVersion = 1

const (
	flagRerun uint16 = 1 << iota
	flagGeneration
	flagOwner
	flagNonce
	flagResponse
	flagNotKept
	flagSealed
	flagSettlement
	flagLast
	flagLastOperation // the last transition's operation is not the claim's
	flagsKnown        = 1<<iota - 1
)

func (r *Record) flags() uint16 {
	var f uint16
	set := func(flag uint16, on bool) {
		if on {
			f |= flag
		}
	}
	set(flagRerun, r.Interruption == Rerun)
	set(flagGeneration, r.Generation != Generation{})
	set(flagOwner, !r.Owner.IsZero())
	set(flagNonce, !r.Nonce.IsZero())
	set(flagResponse, !r.Response.IsZero())
	set(flagNotKept, r.Response.NotKept)
	set(flagSealed, r.Response.Sealed != "")
	set(flagSettlement, r.Settlement != Settlement{})
	set(flagLast, r.Last.Kind != 0)
	set(flagLastOperation, r.Last.Kind != 0 && r.Last.Operation != r.Operation)
	return f
}

// AppendBinary appends the stored form of the record to b. It never fails; the error is there for
// [encoding.BinaryAppender].
func (r *Record) AppendBinary(b []byte) ([]byte, error) {
	head := len(b)
	flags := r.flags()
	b = append(b, formVersion, byte(r.State))
	b = binary.BigEndian.AppendUint16(b, flags)
	b = appendText(b, r.Scope.Operation)
	b = binary.AppendUvarint(b, uint64(r.Scope.SecretVersion))
	if flags&flagGeneration != 0 {
		b = append(b, r.Generation[:]...)
	}
	if flags&flagOwner != 0 {
		b = append(b, r.Owner[:]...)
	}
	b = binary.AppendUvarint(b, uint64(r.Attempt))
	b = binary.AppendUvarint(b, r.Revision)
	b = append(b, r.Operation[:]...)
	if flags&flagNonce != 0 {
		b = append(b, r.Nonce[:]...)
	}
	b = binary.AppendUvarint(b, uint64(r.Fingerprint.Version))
	b = append(b, r.Fingerprint.Sum[:]...)
	b = binary.AppendUvarint(b, uint64(r.Policy))
	for _, t := range r.times() {
		b = binary.AppendVarint(b, int64(*t))
	}
	b = appendText(b, r.Reason)
	if flags&flagResponse != 0 {
		b = appendText(b, r.Response.Codec)
		b = append(b, r.Response.Digest[:]...)
		b = appendText(b, r.Response.Data)
		if flags&flagSealed != 0 {
			b = appendText(b, r.Response.Sealed)
		}
	}
	if flags&flagSettlement != 0 {
		b = appendText(b, r.Settlement.Who)
		b = appendText(b, r.Settlement.Why)
		b = appendText(b, r.Settlement.Evidence)
		b = binary.AppendVarint(b, int64(r.Settlement.At))
	}
	if flags&flagLast != 0 {
		b = append(b, byte(r.Last.Kind))
		if flags&flagLastOperation != 0 {
			b = append(b, r.Last.Operation[:]...)
		}
		b = binary.AppendUvarint(b, r.Last.FromRevision)
		b = append(b, r.Last.Digest[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Extensions)))
	for _, e := range r.Extensions {
		b = binary.AppendUvarint(b, e.Tag)
		b = appendText(b, e.Data)
	}
	return binary.BigEndian.AppendUint32(b, checksum(b[head:])), nil
}

// times lists the record's instants in the order of the stored form.
func (r *Record) times() [6]*Instant {
	return [...]*Instant{&r.Claimed, &r.LeaseEnd, &r.Started, &r.Finished, &r.WindowEnd, &r.RememberUntil}
}

func appendText[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
