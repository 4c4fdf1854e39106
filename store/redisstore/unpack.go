package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/machine"
)

var errForm = errors.New("the stored form is damaged")

// tagged reports whether a stored form carries the tag of a generation. A record with another one is void.
func tagged(packed []byte, generation machine.Generation) bool {
	return len(packed) >= 2+tagSize && string(packed[2:2+tagSize]) == string(generation[:tagSize])
}

// formOf returns the number of a form, 0 if there is none.
func formOf(packed []byte) byte {
	if len(packed) == 0 {
		return 0
	}
	return packed[0] &^ awaited
}

// unpack reads a record of the generation, whose key expires at expiry. It returns its birth too. The record keeps no reference to
// packed but for the response's data.
func unpack(digest machine.Digest, packed []byte, generation machine.Generation, expiry machine.Instant) (*machine.Record, machine.Instant, error) {
	if formOf(packed) != form {
		return nil, 0, fmt.Errorf("form %d is not known to this version, which reads form %d", formOf(packed), form)
	}
	r := &machine.Record{Scope: machine.Scope{Digest: digest}, Generation: generation}
	d := decoder{rest: packed[1:]}
	d.head(r)
	claim := decoder{rest: d.take(d.length())}
	tail := decoder{rest: d.rest}
	claim.claim(r)
	birth := tail.tail(r, expiry)
	if d.failed || claim.failed || tail.failed || len(claim.rest) > 0 {
		return nil, 0, errForm
	}
	for _, i := range []*machine.Instant{&r.Claimed, &r.LeaseEnd} {
		*i += birth
	}
	if claim.flags&claimStarted != 0 {
		r.Started += birth
	}
	if claim.flags&claimSettled != 0 {
		r.Settlement.At += birth
	}
	if tail.flags&tailLast == 0 {
		r.Last.Digest, _ = r.DeriveLast()
	}
	return r, birth, nil
}

// decoder reads one field after the other, and remembers that one was cut short.
type decoder struct {
	rest   []byte
	flags  uint64
	failed bool
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.failed, d.rest = true, nil
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) fill(into []byte) { copy(into, d.take(uint64(len(into)))) }

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) instant() machine.Instant {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return machine.Instant(n)
}

func (d *decoder) text() string { return string(d.take(d.number())) }

func (d *decoder) byte() (b byte) {
	if one := d.take(1); one != nil {
		b = one[0]
	}
	return b
}

// length reads the three bytes in front of a claim.
func (d *decoder) length() uint64 {
	var b [3]byte
	d.fill(b[:])
	return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2])
}

func (d *decoder) head(r *machine.Record) {
	r.State = machine.State(d.byte())
	d.take(tagSize)
	d.fill(r.Owner[:])
	d.fill(r.Nonce[:])
	r.Attempt = uint32(d.number())
	r.Revision = d.number()
	if r.State < machine.Claimed || r.State > machine.Abandoned {
		d.failed = true
	}
}

func (d *decoder) claim(r *machine.Record) {
	d.fill(r.Operation[:])
	d.flags = d.number()
	if d.flags&claimRerun != 0 {
		r.Interruption = machine.Rerun
	}
	r.Fingerprint.Version = uint32(d.number())
	d.fill(r.Fingerprint.Sum[:])
	r.Policy = uint32(d.number())
	r.Scope.SecretVersion = uint32(d.number())
	r.Scope.Operation = d.text()
	r.Claimed, r.LeaseEnd = d.instant(), d.instant()
	if d.flags&claimStarted != 0 {
		r.Started = d.instant()
	}
	if d.flags&claimSettled != 0 {
		r.Settlement = machine.Settlement{Who: d.text(), Why: d.text(), Evidence: d.text(), At: d.instant()}
	}
	if d.flags&claimExtended != 0 {
		for n := d.number(); n > 0 && !d.failed; n-- {
			r.Extensions = append(r.Extensions, machine.Extension{Tag: d.number(), Data: []byte(d.text())})
		}
	}
}

// tail reads the tail and returns the record's birth.
func (d *decoder) tail(r *machine.Record, expiry machine.Instant) machine.Instant {
	var age int64
	for _, b := range d.take(6) {
		age = age<<8 | int64(b)
	}
	d.flags = d.number()
	for i, ending := range endings(r) {
		if d.flags&(tailFinished<<i) != 0 {
			*ending = d.instant()
		}
	}
	life := int64(nominalLife)
	if fades(r.State, d.flags&tailRemember != 0) {
		life = age + livesOn(r.RememberUntil.Sub(0))
	}
	birth := expiry - machine.Instant(life*1000)
	at := birth + machine.Instant(age*1000)
	for i, ending := range endings(r) {
		if d.flags&(tailFinished<<i) != 0 {
			*ending += at
		}
	}
	if d.flags&tailReason != 0 {
		r.Reason = d.text()
	}
	d.last(r)
	if d.flags&tailResponse != 0 {
		d.response(r)
	}
	return birth
}

func (d *decoder) last(r *machine.Record) {
	r.Last = machine.Transition{Kind: machine.Kind(d.byte()), Operation: r.Operation, FromRevision: r.Revision - 1}
	if d.flags&tailOperation != 0 {
		d.fill(r.Last.Operation[:])
	}
	if d.flags&tailFrom != 0 {
		r.Last.FromRevision = d.number()
	}
	if d.flags&tailLast != 0 {
		d.fill(r.Last.Digest[:])
	}
}

func (d *decoder) response(r *machine.Record) {
	r.Response.Codec = d.text()
	if d.flags&tailDigest != 0 {
		d.fill(r.Response.Digest[:])
	}
	r.Response.NotKept = d.flags&tailNotKept != 0
	if d.flags&tailSealed != 0 {
		r.Response.Sealed = d.text()
	}
	r.Response.Data = d.take(uint64(len(d.rest)))
	if d.flags&tailDigest == 0 {
		r.Response.Digest = r.Response.DeriveDigest()
	}
}

// identifyingPart returns the beginning of a stored form by which a script tells that it is still the same:
// the head, and the operation that claimed it. What is damaged is told by all of it.
func identifyingPart(packed []byte) []byte {
	d := decoder{rest: packed}
	d.take(1)
	d.head(&machine.Record{})
	d.take(3 + uint64(len(machine.ID{})))
	if d.failed {
		return packed
	}
	return packed[:len(packed)-len(d.rest)]
}
