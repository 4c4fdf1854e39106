package redisstore

import (
	"github.com/reprise-dev/reprise/machine"
)

// bucket is what this process knows of a bucket that has a generation.
type bucket struct {
	generation machine.Generation
	records    string // how the keys of its records begin
	key        string // of its generation
}

// learn keeps the generation of a bucket, and reports whether it is one.
func (s *Store) learn(b int, value []byte) bool {
	var g machine.Generation
	if copy(g[:], value) != len(g) || len(value) != len(g) {
		return false
	}
	s.buckets[b].Store(&bucket{g, s.names.recordsOf(b, g), s.names.generation(b)})
	return true
}

// generation returns that of a bucket as this process knows it, zero if there is none.
func (s *Store) generation(b int) machine.Generation {
	if known := s.buckets[b].Load(); known != nil {
		return known.generation
	}
	return machine.Generation{}
}

// target is the record that a command is about.
type target struct {
	digest     machine.Digest
	bucket     int
	generation machine.Generation // zero where the bucket has none
	keys       []string           // of the record and of its bucket's generation
}

func newTarget(s *Store, digest machine.Digest) target {
	b := bucketOf(digest)
	known := s.buckets[b].Load()
	if known == nil {
		known = &bucket{records: s.names.recordsOf(b, machine.Generation{}), key: s.names.generation(b)}
	}
	return target{digest, b, known.generation, []string{known.records + string(digest[:]), known.key}}
}
