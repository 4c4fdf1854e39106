package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// Options are how a file is opened. The zero value is right for most uses.
type Options struct {
	// Clock is the store's clock; nil is [time.Now]. All processes that use a file must have the same
	// one. Tests move it.
	Clock func() time.Time
	// MustExist refuses a path at which there is no store, instead of making one there.
	MustExist bool
	// NoMigration refuses a store whose schema is older than this version's, instead of bringing it up to
	// date. It is for whoever looks into a store of others. It implies MustExist.
	NoMigration bool
	// Beside makes the store in a database that has tables, and no store yet: the program's own, whose writes
	// are to commit together with records (see [Do]). Otherwise such a database is taken for another
	// program's, and refused. The file then keeps a write-ahead log, if it did not before.
	Beside bool
	// GroupLimit is how many commands share a commit at most; 0 is 256.
	GroupLimit int
	// Readers is how many connections read beside the writer; 0 is 8.
	Readers int
	// BusyTimeout is how long a command waits for the file's write lock, if another process or an effect
	// (see [Do]) has it, before it is unavailable; 0 is 5 s.
	BusyTimeout time.Duration
	// Detached runs every command on a goroutine of the store's. Otherwise a caller that nobody else is
	// beside commits by itself, which saves it a fifth of the time; should that commit hang, on a disk
	// that was quick until then, the caller cannot leave it when its context ends.
	Detached bool
}

func (o Options) withDefaults() Options {
	o.MustExist = o.MustExist || o.NoMigration
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.GroupLimit <= 0 {
		o.GroupLimit = 256
	}
	if o.Readers <= 0 {
		o.Readers = 8
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	return o
}

// Store is a [store.Store] in a SQLite file. It is also a [store.Lister], [store.Counter],
// [store.Purger], [store.Watcher] and [store.SecretKeeper]. Make one with [Open].
type Store struct {
	path     string
	now      func() time.Time
	created  bool
	file     *identity
	readers  chan *reader // idle ones
	opened   int          // how many readers there are
	writer   *writer
	watchers watchers
	requests sync.Pool
	library  func() (string, error) // which SQLite this is, asked once

	closing   chan struct{} // closed when Close begins
	closeOnce sync.Once
	closeErr  error
}

// Open opens the file at path, creates it if it is missing, readable for its owner only, and brings its
// schema up to date. Two processes may open one new file at once. The caller closes the store.
//
// A schema newer than the next one after this version's is refused with [store.ErrSchema]. Other
// errors say what is wrong with the file; [fs.ErrNotExist] is found in that of a missing file or
// directory, and of a file in which there is no store and must be one. What is refused is left as it
// was, above all the database of another program.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	options = options.withDefaults()
	name, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	path, err = locate(path, options.MustExist)
	if err != nil {
		return nil, err
	}
	status, err := migrate(ctx, path, options)
	if err != nil {
		return nil, err
	}
	s := &Store{
		path: path, now: options.Clock, created: status.created, closing: make(chan struct{}),
		readers: make(chan *reader, options.Readers), library: sync.OnceValues(library),
	}
	s.requests.New = func() any { return newRequest() }
	if err := s.connect(name, options); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, explain(path, err)), s.closeReaders())
	}
	return s, nil
}

func (s *Store) connect(name string, options Options) (err error) {
	for range options.Readers {
		r, err := openReader(s.path, options.BusyTimeout)
		if err != nil {
			return err
		}
		s.readers <- r
		s.opened++
	}
	if s.file, err = identify(name, s.path); err != nil {
		return err
	}
	s.writer, err = startWriter(s, options)
	return err
}

// Created reports whether this call of [Open] made the database. Whoever gets true has an empty store,
// and says so: a file that was there yesterday may have been lost.
func (s *Store) Created() bool { return s.created }

// Close implements [store.Store]. It waits for the running group.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.closeErr = errors.Join(s.writer.wait(), s.closeReaders())
	})
	return s.closeErr
}

// closeReaders closes all reading connections, each once it is idle.
func (s *Store) closeReaders() error {
	var failures []error
	for range s.opened {
		failures = append(failures, (<-s.readers).conn.close())
	}
	return errors.Join(failures...)
}

// usable returns an error if the store is closed, its file is gone or the caller's context has ended.
func (s *Store) usable(ctx context.Context) error {
	if err := store.NotSent(ctx); err != nil {
		return err
	}
	select {
	case <-s.closing:
		return store.Unavailable(errClosed)
	default:
		return s.file.check()
	}
}
