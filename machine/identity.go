package machine

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
)

// Digest is a SHA-256 (or HMAC-SHA-256) sum.
type Digest [32]byte

// IsZero reports whether the digest is not set.
func (d Digest) IsZero() bool { return d == Digest{} }

// String returns the digest in lower-case hex, 64 characters.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// ParseDigest reads what [Digest.String] wrote.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(d) {
		return d, fmt.Errorf("%q is not a digest: 64 hexadecimal characters expected", s)
	}
	copy(d[:], b)
	return d, nil
}

// Token is an owner's secret: 32 random bytes. Whoever knows it may finish what it claimed, so
// records hold only its [Token.Digest].
type Token [32]byte

// Digest returns the SHA-256 of the token, the form that is stored.
func (t Token) Digest() Digest { return sha256.Sum256(t[:]) }

// IsZero reports whether the token is not set.
func (t Token) IsZero() bool { return t == Token{} }

// ID names an operation: what a client of the machine is trying to do, however often it sends it.
type ID [16]byte

// IsZero reports whether the id is not set.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the id in lower-case hex.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Nonce names one invocation of an action. See the package comment.
type Nonce [16]byte

// IsZero reports whether the nonce is not set.
func (n Nonce) IsZero() bool { return n == Nonce{} }

// Generation names one life of a store's data. A store that can lose everything at once (Redis)
// gives each life a new one; other stores leave it zero.
type Generation [16]byte

// Scope names a record. Neither the key nor the principal is in it: Digest is an HMAC over operation,
// principal and key, made under the secret of SecretVersion.
type Scope struct {
	// Operation is the name of what is done, such as "POST /orders". It is stored in clear, because
	// people who settle unknown operations must see what they look at.
	Operation     string
	SecretVersion uint32
	Digest        Digest
}

// Fingerprint is a digest of a request's content. Version says by which rules it was made; only
// fingerprints of one version can be compared.
type Fingerprint struct {
	Version uint32
	Sum     Digest
}

// sameOwner compares the digest of a token with the one in a record. Nobody is the owner of a record
// without one.
func sameOwner(token, recorded Digest) bool {
	return !recorded.IsZero() && subtle.ConstantTimeCompare(token[:], recorded[:]) == 1
}
