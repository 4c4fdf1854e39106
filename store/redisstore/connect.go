package redisstore

import (
	"context"

	"github.com/redis/rueidis"
)

// Servers are those that a DSN leads to, whether or not there is a store, and whoever they are. They are for what is no record: what is done with
// records wants [Open], which asks whether this is the Redis that has them. Make them with [Connect].
type Servers struct{ store *Store }

// Connect connects to the servers of a DSN. The caller closes them.
func Connect(dsn string, options Options) (*Servers, error) {
	s, err := openUnchecked(dsn, options)
	if err != nil {
		return nil, err
	}
	return &Servers{s}, nil
}

// Client returns a client that sends a command to where its key is, and nothing twice by itself.
func (s *Servers) Client() rueidis.Client { return s.store.client }

// Primaries is [Store.Primaries].
func (s *Servers) Primaries(ctx context.Context) ([]rueidis.Client, error) {
	return s.store.Primaries(ctx)
}

// Close closes the connections.
func (s *Servers) Close() { s.store.client.Close() }
