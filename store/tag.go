package store

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/reprise-dev/reprise/machine"
)

// Buckets is how many parts there are into which a store may spread its records.
const Buckets = 1024

// BucketOf returns the bucket of a record: the first ten bits of its digest.
func BucketOf(digest machine.Digest) int { return int(binary.BigEndian.Uint16(digest[:2]) >> 6) }

// TagBucket returns the bucket of a tag, under which records are kept beside the data that their effects change.
func TagBucket(tag string) int { return BucketOf(sha256.Sum256([]byte(tag))) }

// Tagged returns the digest in the bucket of the tag. All else of it stays.
func Tagged(digest machine.Digest, tag string) machine.Digest {
	const rest = 1<<6 - 1
	bits := binary.BigEndian.Uint16(digest[:2])
	binary.BigEndian.PutUint16(digest[:2], uint16(TagBucket(tag))<<6|bits&rest)
	return digest
}
