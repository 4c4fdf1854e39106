package redisstore

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// InitNew makes a store on a server that has none under the prefix: it gives every bucket a generation. It is an
// act of an operator, never of a deployment: a Redis that was emptied looks like a new one. Where there is a
// generation already, nothing is changed.
func InitNew(ctx context.Context, dsn string, options Options) error {
	client, d, err := connect(dsn)
	if err != nil {
		return err
	}
	defer client.Close()
	s := newStore(client, d, options)
	known, err := s.readGenerations(ctx)
	if err != nil {
		return err
	}
	if known > 0 {
		return fmt.Errorf("%d of %d buckets under the prefix %q have a generation already: this store is not new", known, Buckets, s.names.prefix)
	}
	return s.writeGenerations(ctx)
}

// writeGenerations gives every bucket that has none a new generation.
func (s *Store) writeGenerations(ctx context.Context) error {
	var generation machine.Generation
	if _, err := rand.Read(generation[:]); err != nil {
		return err
	}
	commands := make(rueidis.Commands, Buckets)
	for b := range commands {
		commands[b] = s.client.B().Setnx().Key(s.names.generation(b)).Value(string(generation[:])).Build()
	}
	for b, result := range s.client.DoMulti(ctx, commands...) {
		if made, err := result.AsBool(); err != nil {
			return sent(ctx, err)
		} else if !made {
			return fmt.Errorf("%w: bucket %04d was given a generation by somebody else meanwhile", store.ErrUnavailable, b)
		}
	}
	return nil
}
