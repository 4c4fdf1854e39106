package reprise

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"sync"

	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What a secret is used for. The purpose is the first framed part, so that no digest made for one use
// is ever one of another.
const (
	purposeScope      = "scope"
	purposeDownstream = "downstream"
	purposeCheck      = "check"
)

// secretKey makes digests under one version of the secret.
type secretKey struct {
	secret store.Secret
	pool   sync.Pool // of *digester
}

type digester struct {
	mac    hash.Hash
	framed []byte
	sum    [sha256.Size]byte
}

func newSecretKey(v Secret) *secretKey {
	bytes := append([]byte{}, v.Bytes...)
	k := &secretKey{}
	k.pool.New = func() any { return &digester{mac: hmac.New(sha256.New, bytes)} }
	k.secret = store.Secret{Version: v.Version, Check: k.digest(purposeCheck)}
	if !v.PrimaryFrom.IsZero() {
		k.secret.PrimaryFrom = machine.InstantOf(v.PrimaryFrom)
	}
	return k
}

// digest is HMAC-SHA-256 over the parts, each framed by its length: ("ab", "c") and ("a", "bc") differ.
func (k *secretKey) digest(parts ...string) machine.Digest {
	d := k.pool.Get().(*digester)
	defer k.pool.Put(d)
	d.mac.Reset()
	d.framed = d.framed[:0]
	for _, part := range parts {
		d.framed = binary.BigEndian.AppendUint32(d.framed, uint32(len(part)))
		d.framed = append(d.framed, part...)
	}
	d.mac.Write(d.framed)
	d.mac.Sum(d.sum[:0])
	clear(d.framed)
	return d.sum
}

func (k *secretKey) scope(c *Call) machine.Scope {
	digest := k.digest(purposeScope, c.Operation, c.Principal, c.Key)
	if c.Tag != "" {
		digest = store.Tagged(digest, c.Tag)
	}
	return machine.Scope{Operation: c.Operation, SecretVersion: k.secret.Version, Digest: digest}
}

// downstream derives the key for a call to another service, in the form of a UUID (version 8 of RFC
// 9562), which services that are strict about keys accept.
func (k *secretKey) downstream(digest machine.Digest, name string) string {
	sum := k.digest(purposeDownstream, string(digest[:]), name)
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
