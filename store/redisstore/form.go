package redisstore

import (
	"encoding/binary"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// The stored form of a record has three parts, so that a script can finish an execution without knowing the
// record:
//
//	head   what its owner knows: form, state, generation, owner, nonce, attempt, revision
//	claim  what was fixed when it was claimed or started, with its length in front
//	tail   what finished it, and its last transition
//
// Instants are microseconds from the record's birth, which is when its key expires less its life. The tail
// begins with the record's age at its end in milliseconds, and counts from there: a script knows no more. Digests that
// the rest of a record determines are left out.
//
// The first byte is the form, and whether somebody waits for the record to change: see watch.go.
const (
	form    = 1
	awaited = 1 << 7
)

// nominalLife is that of records that are not finished, in milliseconds: a hundred years. It is there only
// to tell their age.
const nominalLife = 100 * 365 * 24 * 60 * 60 * 1000

// tagSize is how much of its generation a record carries. It tells the generations of one bucket apart.
const tagSize = 8

const (
	claimRerun uint64 = 1 << iota
	claimStarted
	claimSettled
	claimExtended
)

const (
	tailFinished uint64 = 1 << iota
	tailWindow
	tailRemember
	tailReason
	tailResponse
	tailDigest // the response's digest, which its data does not determine
	tailNotKept
	tailSealed
	tailOperation // the last transition's operation, if it is not the claim's
	tailFrom      // the revision it came from, if it is not the one before
	tailLast      // the last transition's digest, which the record does not determine
)

// appendHead appends the head.
func appendHead(b []byte, state machine.State, r *machine.Record) []byte {
	b = append(b, form, byte(state))
	b = append(b, r.Generation[:tagSize]...)
	b = append(b, r.Owner[:]...)
	b = append(b, r.Nonce[:]...)
	b = binary.AppendUvarint(b, uint64(r.Attempt))
	return binary.AppendUvarint(b, r.Revision)
}

// appendClaim appends the claim with its length.
func appendClaim(b []byte, r *machine.Record, birth machine.Instant) []byte {
	start := len(b)
	b = append(b, 0, 0, 0)
	b = append(b, r.Operation[:]...)
	var flags uint64
	set := func(flag uint64, on bool) {
		if on {
			flags |= flag
		}
	}
	set(claimRerun, r.Interruption == machine.Rerun)
	set(claimStarted, !r.Started.IsZero())
	set(claimSettled, r.Settlement != machine.Settlement{})
	set(claimExtended, len(r.Extensions) > 0)
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendUvarint(b, uint64(r.Fingerprint.Version))
	b = append(b, r.Fingerprint.Sum[:]...)
	b = binary.AppendUvarint(b, uint64(r.Policy))
	b = binary.AppendUvarint(b, uint64(r.Scope.SecretVersion))
	b = appendText(b, r.Scope.Operation)
	b = binary.AppendVarint(b, int64(r.Claimed-birth))
	b = binary.AppendVarint(b, int64(r.LeaseEnd-birth))
	if flags&claimStarted != 0 {
		b = binary.AppendVarint(b, int64(r.Started-birth))
	}
	if flags&claimSettled != 0 {
		b = appendText(b, r.Settlement.Who)
		b = appendText(b, r.Settlement.Why)
		b = appendText(b, r.Settlement.Evidence)
		b = binary.AppendVarint(b, int64(r.Settlement.At-birth))
	}
	if flags&claimExtended != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Extensions)))
		for _, e := range r.Extensions {
			b = appendText(binary.AppendUvarint(b, e.Tag), e.Data)
		}
	}
	length := len(b) - start - 3
	b[start], b[start+1], b[start+2] = byte(length>>16), byte(length>>8), byte(length)
	return b
}

// appendTail appends the tail, whose instants count from at, without the age in front of it.
func appendTail(b []byte, r *machine.Record, at machine.Instant) []byte {
	flags := tailFlags(r)
	b = appendEndings(b, flags, r, at)
	if flags&tailReason != 0 {
		b = appendText(b, r.Reason)
	}
	return appendLast(b, flags, r)
}

// tailAround returns what stands before and after the reason in the tail of a record that has one.
func tailAround(r *machine.Record, at machine.Instant) (before, after []byte) {
	flags := tailFlags(r)
	return appendEndings(nil, flags, r, at), appendLast(nil, flags, r)
}

func appendEndings(b []byte, flags uint64, r *machine.Record, at machine.Instant) []byte {
	b = binary.AppendUvarint(b, flags)
	for i, ending := range endings(r) {
		if flags&(tailFinished<<i) != 0 {
			b = binary.AppendVarint(b, int64(*ending-at))
		}
	}
	return b
}

// appendLast ends a tail: with the last transition, and the response, whose data is the end.
func appendLast(b []byte, flags uint64, r *machine.Record) []byte {
	b = append(b, byte(r.Last.Kind))
	if flags&tailOperation != 0 {
		b = append(b, r.Last.Operation[:]...)
	}
	if flags&tailFrom != 0 {
		b = binary.AppendUvarint(b, r.Last.FromRevision)
	}
	if flags&tailLast != 0 {
		b = append(b, r.Last.Digest[:]...)
	}
	if flags&tailResponse == 0 {
		return b
	}
	b = appendText(b, r.Response.Codec)
	if flags&tailDigest != 0 {
		b = append(b, r.Response.Digest[:]...)
	}
	if flags&tailSealed != 0 {
		b = appendText(b, r.Response.Sealed)
	}
	return append(b, r.Response.Data...)
}

// endings are the instants of a tail, in the order of their flags.
func endings(r *machine.Record) [3]*machine.Instant {
	return [...]*machine.Instant{&r.Finished, &r.WindowEnd, &r.RememberUntil}
}

func tailFlags(r *machine.Record) (flags uint64) {
	set := func(flag uint64, on bool) {
		if on {
			flags |= flag
		}
	}
	set(tailFinished, !r.Finished.IsZero())
	set(tailWindow, !r.WindowEnd.IsZero())
	set(tailRemember, !r.RememberUntil.IsZero())
	set(tailReason, r.Reason != "")
	set(tailResponse, !r.Response.IsZero())
	set(tailDigest, r.Response.Digest != r.Response.DeriveDigest())
	set(tailNotKept, r.Response.NotKept)
	set(tailSealed, r.Response.Sealed != "")
	set(tailOperation, r.Last.Operation != r.Operation)
	set(tailFrom, r.Last.FromRevision != r.Revision-1)
	derived, ok := r.DeriveLast()
	set(tailLast, !ok || derived != r.Last.Digest)
	return flags
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// pack returns the stored form of a record that was born at birth, and its life in milliseconds.
func pack(r *machine.Record, birth machine.Instant) (packed []byte, life int64) {
	b := appendHead(make([]byte, 0, 256+len(r.Response.Data)), r.State, r)
	b = appendClaim(b, r, birth)
	age := int64(0)
	if !r.Finished.IsZero() {
		age = max(0, int64(r.Finished-birth)/1000)
	}
	b = append(b, byte(age>>40), byte(age>>32), byte(age>>24), byte(age>>16), byte(age>>8), byte(age))
	at := birth + machine.Instant(age*1000)
	life = nominalLife
	if fades(r.State, !r.RememberUntil.IsZero()) {
		life = age + livesOn(r.RememberUntil.Sub(at))
	}
	return appendTail(b, r, at), life
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
