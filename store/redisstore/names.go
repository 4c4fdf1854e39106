package redisstore

import (
	"strings"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Buckets is how many there are. A bucket is what the keys of one slot of a cluster have in common: its number
// stands in braces in their names.
const Buckets = store.Buckets

// Bucket returns the part of a name that puts a key beside the records of a tag, such as {0042}.
func Bucket(tag string) string { return bucketTag(store.TagBucket(tag)) }

func bucketTag(b int) string {
	return string([]byte{'{', byte('0' + b/1000), byte('0' + b/100%10), byte('0' + b/10%10), byte('0' + b%10), '}'})
}

func bucketOf(digest machine.Digest) int { return store.BucketOf(digest) }

// names are those of all keys of one store, whose prefix keeps them apart from other users of the server.
type names struct{ prefix string }

func (n names) bucket(b int) string { return n.prefix + bucketTag(b) + ":" }

// tagSize is how much of the generation of its bucket the key of a record carries. A record with another one is void:
// nobody asks for its key.
const tagSize = 4

// record is a packed record of a generation. Neither tag nor digest is spelled out: names take memory too.
func (n names) record(digest machine.Digest, g machine.Generation) string {
	return n.recordsOf(bucketOf(digest), g) + string(digest[:])
}

// recordsOf is how the keys of the records of a bucket begin.
func (n names) recordsOf(b int, g machine.Generation) string {
	return n.bucket(b) + "r" + string(g[:tagSize])
}

// generation is that of a bucket: 16 bytes.
func (n names) generation(b int) string { return n.bucket(b) + "generation" }

// identities are those of the servers that are accepted, and on what terms others are: words, separated by spaces.
func (n names) identities(b int) string { return n.bucket(b) + "identities" }

// acts is a list of what operators did to the store, newest first.
func (n names) acts() string { return n.bucket(0) + "acts" }

// secrets is a hash, from the version of a secret to what is known of it.
func (n names) secrets() string { return n.bucket(secretsBucket) + "secrets" }

// replicas are those that were seen, as processes: run id and history of each, separated by spaces.
func (n names) replicas() string { return n.bucket(0) + "replicas" }

// confirmed is written after what replicas are to confirm.
func (n names) confirmed(b int) string { return n.bucket(b) + "confirmed" }

// making is there while somebody makes the store: its generation.
func (n names) making() string { return n.bucket(0) + "making" }

// abandoned is the index of a bucket.
func (n names) abandoned(b int) string { return n.bucket(b) + "abandoned" }

// changes is the channel on which digests of changed records are told. Scripts know it too.
func (n names) changes() string { return n.prefix + "changes" }

// swept is when the last complete sweep began, in milliseconds since 1970.
func (n names) swept() string { return n.bucket(0) + "swept" }

// sweeping is there while a process sweeps.
func (n names) sweeping() string { return n.bucket(0) + "sweeping" }

// records is what the names of all records match.
func (n names) records() string {
	return n.prefix + "{????}:r" + strings.Repeat("?", tagSize+len(machine.Digest{}))
}

// recordOf reads a record's digest and the tag of its generation out of its key.
func (n names) recordOf(key string) (digest machine.Digest, g machine.Generation, ok bool) {
	if at := len(key) - len(digest); at >= tagSize {
		copy(digest[:], key[at:])
		copy(g[:], key[at-tagSize:at])
	}
	return digest, g, key == n.record(digest, g)
}
