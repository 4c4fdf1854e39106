package redisstore

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// The stored form of a record has four parts, one after the other:
//
//	head    form and state, flags, and what identifies it: attempt, revision, owner, nonce, operation, and of an
//	        unfinished record four random bytes
//	claim   what was fixed when it was claimed or started
//	moment  only of a record that was finished: six bytes by which its birth is known
//	tail    what finished it, its last transition and its answer, whose data is the end
//
// Redis keeps memory in classes of sizes, and a record with an answer of 256 bytes is to stay in that of 384: so
// what is usual is not written, and a flag says where something is not usual. Digests that the rest of a record
// determines are left out.
//
// Instants count from the record's birth, those of the tail from its end. Both are whole milliseconds of the server's
// clock. The key of an unfinished record expires a nominal life after its birth; that of a finished one a known
// time after its end. The moment of one that will expire is its birth in milliseconds since 1970, which whoever
// finished it knew; with the flag aged, and of others, it is the time from birth to end, which scripts know.
//
// The random bytes tell two lives of a key: a late copy of a claim makes the same record again after the first was
// forgotten, and whoever remembers the first must not take the second for it.
//
// The first byte is the form and the state, and whether somebody waits for the record to change: see watch.go.
const (
	form      = 1
	formHeld  = 2 // of an answer that does not expire before somebody has released it: see held.go
	awaited   = 1 << 7
	formShift = 3
	stateMask = 1<<formShift - 1
)

// nominalLife is that of records that are not finished, in milliseconds: a hundred years. It is there only
// to tell their age.
const nominalLife = 100 * 365 * 24 * 60 * 60 * 1000

const (
	momentSize = 6
	lifeSize   = 4 // of the random bytes
)

// The flags. The first seven take one byte.
const (
	flagAttempt            uint64 = 1 << iota // another than 1
	flagFingerprintVersion                    // another than 1
	flagPolicy                                // another than 1
	flagSecretVersion                         // another than 1
	flagClaimed                               // not at its birth
	flagReason
	flagFrom // the last transition's revision is not the one before
	flagStarted
	flagStartedLater // not when it was claimed
	flagRerun
	flagSettled
	flagExtended
	flagAged
	flagFinished
	flagFinishedElsewhen // not at its end
	flagWindow
	flagRemember
	flagKind          // the last transition's is not the usual one of the state
	flagLastOperation // it is not the claim's
	flagLastDigest    // the record does not determine it
	flagResponse
	flagResponseDigest // its data does not determine it
	flagNotKept
	flagSealed
)

// usual returns the flags that are usual for a state: a flag is written as it differs from them.
func usual(state machine.State) uint64 {
	switch state {
	case machine.Claimed:
		return flagLastDigest
	case machine.Executing:
		return flagStarted | flagLastDigest
	case machine.Completed:
		return flagStarted | flagFinished | flagWindow | flagRemember | flagResponse
	case machine.Retryable:
		return flagStarted | flagFinished | flagRemember | flagReason
	case machine.Abandoned:
		return flagStarted | flagFinished | flagReason | flagAged
	}
	return 0
}

// usualKind is how a record comes into a state as a rule.
func usualKind(state machine.State) machine.Kind {
	switch state {
	case machine.Claimed:
		return machine.KindClaim
	case machine.Executing:
		return machine.KindBegin
	case machine.Completed:
		return machine.KindComplete
	}
	return machine.KindFail
}

// codecs are written as their place here, from 1. Others are spelled out after a 0.
func codecs() []string { return []string{"raw/1", "json/1", "http/1"} }

// packing writes the stored form of a record.
type packing struct {
	r     *machine.Record
	held  bool
	flags uint64
	birth machine.Instant
	end   machine.Instant // of a finished record
}

// newPacking prepares the form of a record that was born at birth.
func newPacking(r *machine.Record, birth machine.Instant) packing {
	p := newOpenPacking(r, birth)
	if !finished(r.State) || !derivable(r) {
		p.flags |= flagLastDigest
	}
	return p
}

// newOpenPacking is newPacking where the response or the reason will be another one, and with it the digest of the last
// transition: it will be derived.
func newOpenPacking(r *machine.Record, birth machine.Instant) packing {
	p := packing{r: r, birth: birth, end: birth}
	if finished(r.State) && !r.Finished.IsZero() {
		p.end += max(0, r.Finished-birth) / 1000 * 1000
	}
	p.flags = flagsOf(r, birth, p.end)
	return p
}

func flagsOf(r *machine.Record, birth, end machine.Instant) (flags uint64) {
	set := func(flag uint64, on bool) {
		if on {
			flags |= flag
		}
	}
	set(flagAttempt, r.Attempt != 1)
	set(flagFingerprintVersion, r.Fingerprint.Version != 1)
	set(flagPolicy, r.Policy != 1)
	set(flagSecretVersion, r.Scope.SecretVersion != 1)
	set(flagClaimed, r.Claimed != birth)
	set(flagReason, r.Reason != "")
	set(flagStarted, !r.Started.IsZero())
	set(flagStartedLater, !r.Started.IsZero() && r.Started != r.Claimed)
	set(flagRerun, r.Interruption == machine.Rerun)
	set(flagSettled, r.Settlement != machine.Settlement{})
	set(flagExtended, len(r.Extensions) > 0)
	set(flagFinished, !r.Finished.IsZero())
	set(flagFinishedElsewhen, !r.Finished.IsZero() && r.Finished != end)
	set(flagWindow, !r.WindowEnd.IsZero())
	set(flagRemember, !r.RememberUntil.IsZero())
	set(flagAged, finished(r.State) && !fades(r.State, !r.RememberUntil.IsZero()))
	set(flagResponse, !r.Response.IsZero())
	set(flagResponseDigest, !r.Response.IsZero() && r.Response.Digest != r.Response.DeriveDigest())
	set(flagNotKept, r.Response.NotKept)
	set(flagSealed, r.Response.Sealed != "")
	set(flagFrom, r.Last.FromRevision != r.Revision-1)
	set(flagKind, r.Last.Kind != usualKind(r.State))
	set(flagLastOperation, r.Last.Operation != r.Operation)
	return flags
}

// derivable reports whether the record determines the digest of its last transition. It takes time to find out, which
// is spent on what stays.
func derivable(r *machine.Record) bool {
	derived, ok := r.DeriveLast()
	return ok && derived == r.Last.Digest
}

// finished reports whether the form of a state has a moment.
func finished(state machine.State) bool { return state >= machine.Completed }

// has reports whether a flag is set.
func (p packing) has(flag uint64) bool { return p.flags&flag != 0 }

func (p packing) form() byte {
	if p.held {
		return formHeld
	}
	return form
}

// head appends the head.
func (p packing) head(b []byte) []byte {
	r := p.r
	b = append(b, p.form()<<formShift|byte(r.State))
	b = binary.AppendUvarint(b, p.flags^usual(r.State))
	if p.has(flagAttempt) {
		b = binary.AppendUvarint(b, uint64(r.Attempt))
	}
	b = binary.AppendUvarint(b, r.Revision)
	b = append(b, r.Owner[:]...)
	b = append(b, r.Nonce[:]...)
	b = append(b, r.Operation[:]...)
	if finished(r.State) {
		return b
	}
	return binary.NativeEndian.AppendUint32(b, rand.Uint32())
}

// claim appends the claim.
func (p packing) claim(b []byte) []byte {
	r := p.r
	for _, n := range []struct {
		flag  uint64
		value uint32
	}{{flagFingerprintVersion, r.Fingerprint.Version}, {flagPolicy, r.Policy}, {flagSecretVersion, r.Scope.SecretVersion}} {
		if p.has(n.flag) {
			b = binary.AppendUvarint(b, uint64(n.value))
		}
	}
	b = append(b, r.Fingerprint.Sum[:]...)
	b = appendText(b, r.Scope.Operation)
	b = appendSpan(b, r.LeaseEnd-p.birth)
	if p.has(flagClaimed) {
		b = appendSpan(b, r.Claimed-p.birth)
	}
	if p.has(flagStartedLater) {
		b = appendSpan(b, r.Started-p.birth)
	}
	if p.has(flagSettled) {
		b = appendText(b, r.Settlement.Who)
		b = appendText(b, r.Settlement.Why)
		b = appendText(b, r.Settlement.Evidence)
		b = appendSpan(b, r.Settlement.At-p.birth)
	}
	if p.has(flagExtended) {
		b = binary.AppendUvarint(b, uint64(len(r.Extensions)))
		for _, e := range r.Extensions {
			b = appendText(binary.AppendUvarint(b, e.Tag), e.Data)
		}
	}
	return b
}

// front appends what stands before the moment.
func (p packing) front(b []byte) []byte { return p.claim(p.head(b)) }

// moment appends the moment.
func (p packing) moment(b []byte) []byte {
	if !finished(p.r.State) {
		return b
	}
	ms := p.birth / 1000
	if p.has(flagAged) {
		ms = (p.end - p.birth) / 1000
	}
	return append(b, byte(ms>>40), byte(ms>>32), byte(ms>>24), byte(ms>>16), byte(ms>>8), byte(ms))
}

// endings appends the instants of the tail.
func (p packing) endings(b []byte) []byte {
	for _, ending := range []struct {
		flag uint64
		at   machine.Instant
	}{{flagFinishedElsewhen, p.r.Finished}, {flagWindow, p.r.WindowEnd}, {flagRemember, p.r.RememberUntil}} {
		if p.has(ending.flag) {
			b = appendSpan(b, ending.at-p.end)
		}
	}
	return b
}

// last appends the end of the tail: the last transition, and the response.
func (p packing) last(b []byte) []byte {
	r := p.r
	if p.has(flagKind) {
		b = append(b, byte(r.Last.Kind))
	}
	if p.has(flagLastOperation) {
		b = append(b, r.Last.Operation[:]...)
	}
	if p.has(flagFrom) {
		b = binary.AppendUvarint(b, r.Last.FromRevision)
	}
	if p.has(flagLastDigest) {
		b = append(b, r.Last.Digest[:]...)
	}
	if !p.has(flagResponse) {
		return b
	}
	place := slices.Index(codecs(), r.Response.Codec) + 1
	if b = append(b, byte(place)); place == 0 {
		b = appendText(b, r.Response.Codec)
	}
	if p.has(flagResponseDigest) {
		b = append(b, r.Response.Digest[:]...)
	}
	if p.has(flagSealed) {
		b = appendText(b, r.Response.Sealed)
	}
	return append(b, r.Response.Data...)
}

// tail appends the tail.
func (p packing) tail(b []byte) []byte {
	b = p.endings(b)
	if p.has(flagReason) {
		b = appendText(b, p.r.Reason)
	}
	return p.last(b)
}

// pack returns the stored form of a record that was born at birth, and its life in milliseconds.
func pack(r *machine.Record, birth machine.Instant) (packed []byte, life int64) {
	p := newPacking(r, birth)
	packed = p.tail(p.moment(p.front(make([]byte, 0, 160+len(r.Response.Data)))))
	if !fades(r.State, !r.RememberUntil.IsZero()) {
		return packed, nominalLife
	}
	return packed, int64(p.end-birth)/1000 + livesOn(r.RememberUntil.Sub(p.end))
}

// units are those of spans.
func units() [4]machine.Instant {
	return [...]machine.Instant{1, 1000, 1000 * 1000, 3600 * 1000 * 1000}
}

// appendSpan appends a time in the largest unit that holds it exactly.
func appendSpan(b []byte, span machine.Instant) []byte {
	all := units()
	unit := len(all) - 1
	for span%all[unit] != 0 {
		unit--
	}
	n := span / all[unit]
	return binary.AppendUvarint(b, uint64(n<<1^n>>63)<<2|uint64(unit))
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// fades reports whether a record has an end. What is unfinished has none.
func fades(state machine.State, remembered bool) bool {
	return (state == machine.Completed || state == machine.Retryable) && remembered
}

// livesOn returns for how many milliseconds a record stays that is remembered for d. It is a little longer:
// whoever asks at the end is told so by the record and not by its absence.
func livesOn(d time.Duration) int64 {
	return int64((d+time.Millisecond-1)/time.Millisecond) + int64(grace/time.Millisecond)
}

// grace is how much longer than it is remembered a record stays.
const grace = time.Minute
