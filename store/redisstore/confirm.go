package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
)

// With wait=N nothing is acknowledged before N replicas have it: neither a change, nor what a reply tells of a record
// that somebody else has just changed. After its reply, a command joins a group. A group writes one key, on a
// connection of its own, and waits until N replicas have confirmed that. What a primary tells its replicas is one
// stream, so they have everything before it too, by whomever. Commands that come meanwhile are the next group.
//
// That is true of one server. If another one was greeted since the command was sent, nobody knows which of the two
// has it, and the reply is in doubt: the same command, repeated, finds out, and is waited for in its turn.

const (
	// confirmStep is how long replicas are waited for at a time.
	confirmStep = 500 * time.Millisecond
	// confirmedLife is that of the key that a group writes, in seconds: a year.
	confirmedLife = 365 * 24 * 60 * 60
	// confirmWithin is how long a command without an end of its own waits.
	confirmWithin = 5 * time.Second
)

var (
	errSwitched = errors.New("another server was connected to meanwhile: which of the two has the command is not known")
	errTooFew   = errors.New("too few replicas have confirmed it")
)

// lane is where the groups of one stream follow each other: that of a bucket, or the only one where there is one primary.
type lane struct {
	mu      sync.Mutex
	next    *batch // those who came since the last one was sent
	running bool
}

// batch are commands that are confirmed together.
type batch struct {
	done chan struct{} // closed when err is known
	err  error
}

// server tells which servers this process was connected to when a command began.
func (s *Store) server() uint64 { return s.dialer.crowd.changes.Load() }

// confirm waits until replicas have confirmed what a command on a bucket has done or found, and returns the command's
// error. since is what server returned before the command was sent. A command that told nothing is not waited for.
func (s *Store) confirm(ctx context.Context, bucket int, since uint64, err error) error {
	if s.dialer.dsn.terms.wait == 0 || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrCorrupt) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, confirmWithin, errTooFew)
	defer cancel()
	for {
		g := s.join(bucket)
		select {
		case <-g.done:
		case <-ctx.Done():
			return store.Indeterminate(context.Cause(ctx))
		}
		switch {
		case errors.Is(g.err, errTooFew): // until the command's time is over
		case g.err != nil:
			return store.Indeterminate(g.err)
		case s.server() != since:
			return store.Indeterminate(errSwitched)
		default:
			return err
		}
	}
}

// join returns the next group of a bucket's stream, which it sends if none is under way.
func (s *Store) join(bucket int) *batch {
	if !s.dialer.crowd.cluster {
		bucket = 0
	}
	l := &s.lanes[bucket]
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		l.next = &batch{done: make(chan struct{})}
	}
	g := l.next
	if !l.running {
		l.running = true
		s.helpers.Go(func() { s.sendGroups(bucket, l) })
	}
	return g
}

// sendGroups sends one group after the other, until nobody has joined.
func (s *Store) sendGroups(bucket int, l *lane) {
	for {
		l.mu.Lock()
		g := l.next
		l.next = nil
		l.running = g != nil
		l.mu.Unlock()
		if g == nil {
			return
		}
		g.err = s.askReplicas(bucket)
		close(g.done)
	}
}

// askReplicas waits until enough replicas have what was sent so far.
func (s *Store) askReplicas(bucket int) error {
	ctx, cancel := context.WithTimeout(context.Background(), confirmStep+introduction)
	defer cancel()
	// A connection of its own: on one that is shared, others would wait too, and a command that is redirected would be
	// waited for where it is not.
	return s.client.Dedicated(func(c rueidis.DedicatedClient) error {
		key := s.names.confirmed(bucket)
		// It is written even if there is no memory left, and answers are replayed.
		written, n, err := s.writeAndWait(ctx, c, c.B().Expire().Key(key).Seconds(confirmedLife).Build())
		if err == nil && written == 0 {
			_, n, err = s.writeAndWait(ctx, c, c.B().Setex().Key(key).Seconds(confirmedLife).Value("").Build())
		}
		if needed := s.dialer.dsn.terms.wait; err == nil && n < int64(needed) {
			err = fmt.Errorf("%w: %d of %d (wait=%d in the DSN): look at `INFO replication`", errTooFew, n, needed, needed)
		}
		return explain(err)
	})
}

// writeAndWait returns the number that a command replies, if it is one, and how many replicas have confirmed it.
func (s *Store) writeAndWait(ctx context.Context, c rueidis.DedicatedClient, write rueidis.Completed) (written, n int64, err error) {
	wait := c.B().Wait().Numreplicas(int64(s.dialer.dsn.terms.wait)).Timeout(confirmStep.Milliseconds()).Build()
	results := c.DoMulti(ctx, write, wait)
	if err := results[0].Error(); err != nil {
		return 0, 0, err
	}
	written, _ = results[0].AsInt64()
	n, err = results[1].AsInt64()
	return written, n, err
}
