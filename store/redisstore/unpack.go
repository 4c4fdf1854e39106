package redisstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/machine"
)

var errForm = errors.New("the stored form is damaged")

// formOf returns the number of a form, 0 if there is none.
func formOf(packed []byte) byte {
	if len(packed) == 0 {
		return 0
	}
	return packed[0] &^ awaited >> formShift
}

// readable reports whether this version reads a form.
func readable(number byte) bool { return number == form || number == formHeld }

// unpack reads a record of a generation, whose key expires at expiry. It returns its birth too. The record keeps no
// reference to packed but for the response's data.
func unpack(digest machine.Digest, packed []byte, generation machine.Generation, expiry machine.Instant) (*machine.Record, machine.Instant, error) {
	if f := formOf(packed); !readable(f) {
		return nil, 0, fmt.Errorf("form %d is not known to this version, which reads forms %d and %d", f, form, formHeld)
	}
	d := decoder{rest: packed, held: formOf(packed) == formHeld, r: &machine.Record{Scope: machine.Scope{Digest: digest}, Generation: generation}}
	d.head()
	d.claim()
	birth := d.tail(expiry)
	if d.failed {
		return nil, 0, errForm
	}
	d.born(birth)
	if !d.has(flagLastDigest) {
		d.r.Last.Digest, _ = d.r.DeriveLast()
	}
	return d.r, birth, nil
}

// decoder reads one field of a record after the other, and remembers that one was cut short.
type decoder struct {
	r      *machine.Record
	held   bool
	rest   []byte
	flags  uint64
	failed bool
}

func (d *decoder) has(flag uint64) bool { return d.flags&flag != 0 }

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

// numberIf reads a number that is there only with a flag; without it is 1.
func (d *decoder) numberIf(flag uint64) uint32 {
	if !d.has(flag) {
		return 1
	}
	return uint32(d.number())
}

func (d *decoder) span() machine.Instant {
	n := d.number()
	value := n >> 2
	return machine.Instant(value>>1^-(value&1)) * units()[n&3]
}

func (d *decoder) text() string { return string(d.take(d.number())) }

func (d *decoder) byte() (b byte) {
	if one := d.take(1); one != nil {
		b = one[0]
	}
	return b
}

func (d *decoder) head() {
	r := d.r
	r.State = machine.State(d.byte() & stateMask)
	if r.State < machine.Claimed || r.State > machine.Abandoned {
		d.failed = true
	}
	d.flags = d.number() ^ usual(r.State)
	r.Attempt = d.numberIf(flagAttempt)
	r.Revision = d.number()
	d.fill(r.Owner[:])
	d.fill(r.Nonce[:])
	d.fill(r.Operation[:])
	if !finished(r.State) {
		d.take(lifeSize)
	}
}

// claim reads the claim, whose instants count from the birth that the tail will tell.
func (d *decoder) claim() {
	r := d.r
	r.Fingerprint.Version = d.numberIf(flagFingerprintVersion)
	r.Policy = d.numberIf(flagPolicy)
	r.Scope.SecretVersion = d.numberIf(flagSecretVersion)
	d.fill(r.Fingerprint.Sum[:])
	r.Scope.Operation = d.text()
	if d.has(flagRerun) {
		r.Interruption = machine.Rerun
	}
	r.LeaseEnd = d.span()
	if d.has(flagClaimed) {
		r.Claimed = d.span()
	}
	if r.Started = r.Claimed; d.has(flagStartedLater) {
		r.Started = d.span()
	}
	if d.has(flagSettled) {
		r.Settlement = machine.Settlement{Who: d.text(), Why: d.text(), Evidence: d.text(), At: d.span()}
	}
	if d.has(flagExtended) {
		for n := d.number(); n > 0 && !d.failed; n-- {
			r.Extensions = append(r.Extensions, machine.Extension{Tag: d.number(), Data: []byte(d.text())})
		}
	}
}

// born adds the birth to the instants of the claim.
func (d *decoder) born(birth machine.Instant) {
	d.r.Claimed += birth
	d.r.LeaseEnd += birth
	if d.r.Started += birth; !d.has(flagStarted) {
		d.r.Started = 0
	}
	if d.has(flagSettled) {
		d.r.Settlement.At += birth
	}
}

// tail reads the moment and the tail, and returns the record's birth.
func (d *decoder) tail(expiry machine.Instant) (birth machine.Instant) {
	r := d.r
	moment := d.moment()
	var elsewhen, window, remember machine.Instant
	for _, ending := range []struct {
		flag uint64
		span *machine.Instant
	}{{flagFinishedElsewhen, &elsewhen}, {flagWindow, &window}, {flagRemember, &remember}} {
		if d.has(ending.flag) {
			*ending.span = d.span()
		}
	}
	end := expiry - nominalLife*1000
	switch {
	case fades(r.State, d.has(flagRemember)) && !d.held:
		end = expiry - machine.Instant(livesOn(remember.Sub(0)))*1000
		if birth = moment; d.has(flagAged) {
			birth = end - moment
		}
	default:
		birth = end
		end += moment
	}
	if d.has(flagFinished) {
		r.Finished = end + elsewhen
	}
	if d.has(flagWindow) {
		r.WindowEnd = end + window
	}
	if d.has(flagRemember) {
		r.RememberUntil = end + remember
	}
	if d.has(flagReason) {
		r.Reason = d.text()
	}
	d.last()
	return birth
}

func (d *decoder) moment() (moment machine.Instant) {
	if !finished(d.r.State) {
		return 0
	}
	for _, b := range d.take(momentSize) {
		moment = moment<<8 | machine.Instant(b)
	}
	return moment * 1000
}

func (d *decoder) last() {
	r := d.r
	r.Last = machine.Transition{Kind: usualKind(r.State), Operation: r.Operation, FromRevision: r.Revision - 1}
	if d.has(flagKind) {
		r.Last.Kind = machine.Kind(d.byte())
	}
	if d.has(flagLastOperation) {
		d.fill(r.Last.Operation[:])
	}
	if d.has(flagFrom) {
		r.Last.FromRevision = d.number()
	}
	if d.has(flagLastDigest) {
		d.fill(r.Last.Digest[:])
	}
	if d.has(flagResponse) {
		d.response()
	} else if len(d.rest) > 0 {
		d.failed = true
	}
}

func (d *decoder) response() {
	response, known := &d.r.Response, codecs()
	switch place := int(d.byte()); {
	case place == 0:
		response.Codec = d.text()
	case place <= len(known):
		response.Codec = known[place-1]
	default:
		d.failed = true
	}
	if d.has(flagResponseDigest) {
		d.fill(response.Digest[:])
	}
	response.NotKept = d.has(flagNotKept)
	if d.has(flagSealed) {
		response.Sealed = d.text()
	}
	response.Data = d.take(uint64(len(d.rest)))
	if !d.has(flagResponseDigest) {
		response.Digest = response.DeriveDigest()
	}
}

// identifyingPart returns the beginning of a stored form by which a script tells that it is still the same: the
// head. What is damaged is told by all of it.
func identifyingPart(packed []byte) []byte {
	var r machine.Record
	d := decoder{rest: packed, r: &r}
	d.head()
	if d.failed {
		return packed
	}
	return packed[:len(packed)-len(d.rest)]
}
