package machine

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// DecodeRecord reads the stored form of the record that is kept under digest. The record keeps no
// reference to b. An error means that the bytes are no record this version can read: damaged, or
// written by a newer one.
func DecodeRecord(digest Digest, b []byte) (*Record, error) {
	if len(b) < 5 {
		return nil, errors.New("record: too short")
	}
	if b[0] != formVersion {
		return nil, fmt.Errorf("record: stored form %d is not known to this version, which reads form %d", b[0], formVersion)
	}
	body, sum := b[:len(b)-4], binary.BigEndian.Uint32(b[len(b)-4:])
	if checksum(body) != sum {
		return nil, errors.New("record: checksum does not match")
	}
	d := decoder{rest: body[1:]}
	r := &Record{Scope: Scope{Digest: digest}}
	d.record(r)
	if d.err == nil && len(d.rest) != 0 {
		d.fail("bytes left over")
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// decoder reads fields one after the other and remembers the first failure.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = errors.New("record: " + what)
	}
	d.rest = nil
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.fail("cut short")
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.fail("bad number")
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) uint32() uint32 {
	n := d.uvarint()
	if n > 1<<32-1 {
		d.fail("number too large")
	}
	return uint32(n)
}

func (d *decoder) instant() Instant {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail("bad number")
		return 0
	}
	d.rest = d.rest[size:]
	return Instant(n)
}

func (d *decoder) text() string  { return string(d.take(d.uvarint())) }
func (d *decoder) into(b []byte) { copy(b, d.take(uint64(len(b)))) }

func (d *decoder) record(r *Record) {
	r.State = State(d.byte())
	if r.State == Absent || r.State > Abandoned {
		d.fail("no such state")
		return
	}
	var flags uint16
	if b := d.take(2); b != nil {
		flags = binary.BigEndian.Uint16(b)
	}
	if flags&^uint16(flagsKnown) != 0 {
		d.fail("flags of a newer version")
		return
	}
	d.identity(r, flags)
	for _, t := range r.times() {
		*t = d.instant()
	}
	r.Reason = d.text()
	if flags&flagResponse != 0 {
		d.response(&r.Response, flags)
	}
	if flags&flagSettlement != 0 {
		r.Settlement = Settlement{Who: d.text(), Why: d.text(), Evidence: d.text(), At: d.instant()}
	}
	if flags&flagLast != 0 {
		d.last(r, flags)
	}
	for count := d.uvarint(); count > 0 && d.err == nil; count-- {
		r.Extensions = append(r.Extensions, Extension{Tag: d.uvarint(), Data: append([]byte{}, d.take(d.uvarint())...)})
	}
}

func (d *decoder) identity(r *Record, flags uint16) {
	r.Scope.Operation, r.Scope.SecretVersion = d.text(), d.uint32()
	if flags&flagRerun != 0 {
		r.Interruption = Rerun
	}
	if flags&flagGeneration != 0 {
		d.into(r.Generation[:])
	}
	if flags&flagOwner != 0 {
		d.into(r.Owner[:])
	}
	r.Attempt, r.Revision = d.uint32(), d.uvarint()
	d.into(r.Operation[:])
	if flags&flagNonce != 0 {
		d.into(r.Nonce[:])
	}
	r.Fingerprint.Version = d.uint32()
	d.into(r.Fingerprint.Sum[:])
	r.Policy = d.uint32()
}

func (d *decoder) response(r *Response, flags uint16) {
	r.Codec = d.text()
	if d.err == nil && r.Codec == "" {
		d.fail("response without a codec")
	}
	d.into(r.Digest[:])
	r.Data = append([]byte{}, d.take(d.uvarint())...)
	r.NotKept = flags&flagNotKept != 0
	if flags&flagSealed != 0 {
		r.Sealed = d.text()
	}
}

func (d *decoder) last(r *Record, flags uint16) {
	r.Last.Kind, r.Last.Operation = Kind(d.byte()), r.Operation
	if r.Last.Kind == 0 {
		d.fail("no such command")
	}
	if flags&flagLastOperation != 0 {
		d.into(r.Last.Operation[:])
	}
	r.Last.FromRevision = d.uvarint()
	d.into(r.Last.Digest[:])
}
