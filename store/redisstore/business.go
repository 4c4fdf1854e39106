package redisstore

import (
	"context"
	"encoding/hex"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Client returns the client of the store, for the data beside its records: it talks to servers alone that were accepted, and
// sends nothing twice by itself. It is closed with the store.
func (s *Store) Client() rueidis.Client { return s.client }

// Older reports whether a server is older than Redis 7, and lacks what is new in it, such as PEXPIRETIME. It stays so while the store is open.
func (s *Store) Older() bool { return s.older }

// Generation returns the generation that the bucket of a tag has as far as this process knows, zero for none. An effect
// under another one is refused.
func (s *Store) Generation(tag string) machine.Generation {
	return s.generation(store.TagBucket(tag))
}

// GenerationKey returns the key of the generation of a tag's bucket: a script that changes data of the bucket beside effects
// compares it with [Store.Generation], and changes nothing where it is another one.
func (s *Store) GenerationKey(tag string) string { return s.names.generation(store.TagBucket(tag)) }

// CommonGeneration returns the generation that all buckets have as far as this process knows, in lower-case hex; empty if they
// do not have the same.
func (s *Store) CommonGeneration() string {
	first := s.generation(0)
	for b := range Buckets {
		if g := s.generation(b); g != first || g == (machine.Generation{}) {
			return ""
		}
	}
	return hex.EncodeToString(first[:])
}

// BucketGeneration returns the generation of a bucket, 0 to [Buckets]-1, as far as this process knows it, and the key of that.
func (s *Store) BucketGeneration(bucket int) (machine.Generation, string) {
	return s.generation(bucket), s.names.generation(bucket)
}

// Reread learns the generations of all buckets again from the server. Those who use them meanwhile see the one before, or the one
// after.
func (s *Store) Reread(ctx context.Context) error {
	ask := make(rueidis.Commands, Buckets)
	for b := range ask {
		ask[b] = s.client.B().Get().Key(s.names.generation(b)).Build()
	}
	for b, result := range s.client.DoMulti(ctx, ask...) {
		value, err := result.AsBytes()
		if err != nil && !rueidis.IsRedisNil(err) {
			return s.dialer.crowd.blame(unread(ctx, err))
		}
		if !s.learn(b, value) {
			s.buckets[b].Store(nil)
		}
	}
	return nil
}

// Primaries returns a client for each server that has keys of its own, for those who look at all keys. They are closed with the store.
func (s *Store) Primaries(ctx context.Context) ([]rueidis.Client, error) {
	nodes, err := s.primaries(ctx)
	clients := make([]rueidis.Client, len(nodes))
	for i, n := range nodes {
		clients[i] = n.client
	}
	return clients, err
}
