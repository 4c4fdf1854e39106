package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// digestVersion heads every transition digest. It changes with the list of fields below it, so that
// a retry across an upgrade is a conflict that can be seen rather than a silent match.
const digestVersion = 1

// framed collects length-framed fields: two different lists of fields never give the same bytes.
// The zero value with its array on the stack serves the hot path without an allocation.
type framed struct {
	n    int
	buf  [416]byte
	over []byte // when the fields outgrow buf
}

func (f *framed) raw(b []byte) *framed {
	if f.over == nil && f.n+len(b) <= len(f.buf) {
		f.n += copy(f.buf[f.n:], b)
		return f
	}
	if f.over == nil {
		f.over = append(f.over, f.buf[:f.n]...)
	}
	f.over = append(f.over, b...)
	return f
}

func (f *framed) bytes(b []byte) *framed {
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(b)))
	return f.raw(length[:]).raw(b)
}

func (f *framed) number(n uint64) *framed {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	return f.bytes(b[:])
}

func (f *framed) text(s string) *framed            { return f.bytes([]byte(s)) }
func (f *framed) duration(d time.Duration) *framed { return f.number(uint64(d / time.Microsecond)) }
func (f *framed) nonce(n Nonce) *framed            { return f.bytes(n[:]) }
func (f *framed) fingerprint(fp Fingerprint) *framed {
	return f.number(uint64(fp.Version)).bytes(fp.Sum[:])
}

func (f *framed) flag(b bool) *framed {
	if b {
		return f.number(1)
	}
	return f.number(0)
}

// response covers the digest of the plain bytes, never the bytes as they are stored.
func (f *framed) response(r Response) *framed {
	return f.text(r.Codec).bytes(r.Digest[:]).flag(r.NotKept)
}

func (f *framed) sum() Digest {
	if f.over != nil {
		return sha256.Sum256(f.over)
	}
	return sha256.Sum256(f.buf[:f.n])
}

// head frames what every transition has. The caller owns f, so that it can stay on its stack.
func (f *framed) head(kind Kind, operation ID, owner Digest, attempt uint32, from uint64) *framed {
	return f.raw([]byte{digestVersion}).number(uint64(kind)).bytes(operation[:]).bytes(owner[:]).
		number(uint64(attempt)).number(from)
}

func (f *framed) hold(kind Kind, h Hold, owner Digest) *framed {
	return f.head(kind, h.Operation, owner, h.Attempt, h.Revision)
}

// beginDigest covers what a claim decides, and with a nonce what a begin does. The attempt is not
// the caller's to choose, so it is not in it.
func beginDigest(c Claim, owner Digest, nonce *Nonce) Digest {
	kind := KindClaim
	if nonce != nil {
		kind = KindBegin
	}
	f := new(framed).head(kind, c.Operation, owner, 0, c.Seen).
		duration(c.Lease).flag(c.Interruption == Rerun).number(uint64(c.Policy)).fingerprint(c.Fingerprints[0])
	if nonce != nil {
		f.nonce(*nonce)
	}
	return f.sum()
}

func settleDigest(c Settle) Digest {
	f := new(framed).head(KindSettle, c.Operation, Digest{}, 0, c.Revision).flag(c.Completed).duration(c.Remember).
		text(c.Who).text(c.Why).text(c.Evidence)
	if c.Completed {
		f.response(c.Response).duration(c.Window)
	}
	return f.sum()
}
