package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Options are how a store is opened. The zero value is right for most uses.
type Options struct {
	// Log is told of servers that are not accepted, and of those that are accepted because nothing can be
	// missing; nil is nobody.
	Log *slog.Logger

	offset func() time.Duration // of the store's clock, in tests
	sweep  time.Duration        // between two sweeps, in tests
	older  bool                 // treats servers as older than Redis 7, in tests
}

// Store is a [store.Store] in Redis. It is also a [store.SecretKeeper], [store.Lister], [store.Counter],
// [store.Purger] and [store.Watcher]. Make one with [Open].
type Store struct {
	client      rueidis.Client
	names       names
	scripts     scripts
	transaction transaction
	older       bool                // a server is older than 7.0: no claim is in a round
	rounds      *gather.Group[turn] // nil where each goes by itself
	endRounds   context.CancelFunc
	offset      func() time.Duration
	buckets     [Buckets]atomic.Pointer[bucket] // nil where there is none
	held        memory
	habit       habit
	meetings    meetings
	purged      atomic.Pointer[string] // where the last purge stopped
	watchers    watchers
	dialer      dialer
	lanes       *[Buckets]lane // of what replicas are to confirm

	mu      sync.RWMutex // of closed, and held for no longer than it takes to look
	closed  bool
	running sync.WaitGroup // commands under way
	closing sync.Once
	life    context.Context
	end     context.CancelCauseFunc // ends life, when Close begins
	helpers sync.WaitGroup          // they live as long
}

// Open connects to the server of a DSN. A server on which no store was made is refused with an error in which
// [fs.ErrNotExist] is found. The caller closes the store.
func Open(ctx context.Context, dsn string, options Options) (*Store, error) {
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	d, option, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	careful := newDialer(d, option, options.Log)
	option.DialCtxFn = careful.dial
	client, err := connect(option)
	if err != nil {
		return nil, careful.crowd.blame(err)
	}
	s := newStore(client, d, options)
	s.dialer = careful
	known, err := s.readGenerations(ctx)
	if err == nil && known == 0 {
		err = missing(fmt.Sprintf("no store was made in this Redis under the prefix %q, or it has lost everything: if it is new, make one with `reprise store init --new`", s.names.prefix))
	}
	if err == nil {
		err = s.whole(ctx)
	}
	if err == nil {
		err = s.checkServers(ctx)
	}
	if err != nil {
		client.Close()
		return nil, err
	}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.serveRounds()
	s.helpers.Go(func() { s.keepChecking(s.life, checkEvery) })
	if d.topology == "sentinel" {
		s.helpers.Go(func() { s.dialer.keepAsking(s.life) })
	}
	s.helpers.Go(func() { s.keepSweeping(s.life, cmp.Or(options.sweep, sweepEvery)) })
	return s, nil
}

// missing says that there is no store. It is found as [fs.ErrNotExist].
type missing string

func (m missing) Error() string        { return string(m) }
func (m missing) Is(target error) bool { return target == fs.ErrNotExist }

func newStore(client rueidis.Client, d DSN, options Options) *Store {
	if options.offset == nil {
		options.offset = func() time.Duration { return 0 }
	}
	return &Store{client: client, older: options.older, names: names{d.prefix}, scripts: newScripts(options.older), transaction: newTransaction(client), offset: options.offset, held: newMemory(), lanes: new([Buckets]lane)}
}

func parse(dsn string) (d DSN, option rueidis.ClientOption, err error) {
	if d, err = ParseDSN(dsn); err == nil {
		option, err = d.options()
	}
	return d, option, err
}

func connect(option rueidis.ClientOption) (rueidis.Client, error) {
	client, err := rueidis.NewClient(option)
	if err != nil && !errors.Is(err, store.ErrLost) {
		err = store.Unavailable(explain(err))
	}
	return client, err
}

// readGenerations learns the generation of every bucket and returns how many have one.
func (s *Store) readGenerations(ctx context.Context) (known int, err error) {
	commands := make(rueidis.Commands, Buckets)
	for b := range commands {
		commands[b] = s.client.B().Get().Key(s.names.generation(b)).Build()
	}
	for b, result := range s.client.DoMulti(ctx, commands...) {
		value, err := result.AsBytes()
		if rueidis.IsRedisNil(err) {
			continue
		}
		if err != nil {
			return 0, unread(ctx, err)
		}
		if s.learn(b, value) {
			known++
		}
	}
	return known, nil
}

// Close implements [store.Store]. It waits for the commands under way. Listings, counts and purges are ended, and effects
// in doubt are not asked for again.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.end(errClosed)
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.running.Wait()
		s.endRounds()
		s.helpers.Wait()
		s.client.Close()
	})
	return nil
}

// enter counts a command as under way, unless the store is closed or the caller's context has ended. The caller calls
// leave after it. None is counted once closed is set, and so once Close waits.
func (s *Store) enter(ctx context.Context) error {
	if err := store.NotSent(ctx); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return store.Unavailable(errClosed)
	}
	s.running.Add(1)
	return nil
}

func (s *Store) leave() { s.running.Done() }

// enterForLong is enter for what can take long. The context that it returns ends when the store is closed.
func (s *Store) enterForLong(ctx context.Context) (context.Context, func(), error) {
	if err := s.enter(ctx); err != nil {
		return ctx, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.life, func() { cancel(errClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		s.leave()
	}, nil
}
