package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Effects say how actions commit together with their records. The zero value will do.
type Effects struct {
	// Store is the open store of the file, where this process has it open. Then its clock counts, who waits for
	// a key in this process is woken, and a pool of another file is refused, as is a file that was deleted or
	// replaced. Without it the clock is [time.Now].
	Store *Store
	// BusyTimeout is how long an action waits for the file's write lock before it is unavailable; 0 is 5 s. It
	// takes the place of the connection's own busy_timeout.
	BusyTimeout time.Duration
	// Limit is how long an action may take; 0 is 2 s. Nobody else writes to the file meanwhile, and commands of
	// a [Store] wait no longer than [Options.BusyTimeout]. Then the action's context ends. In [Effects.Do] the
	// transaction is rolled back, whether the action returns or not.
	Limit time.Duration
}

const (
	defaultEffectBusy  = 5 * time.Second
	defaultEffectLimit = 2 * time.Second // less than commands wait
)

// Do is [Effects.Do] of the zero value.
func Do(ctx context.Context, db *sql.DB, invocation *store.Invocation, action func(ctx context.Context, tx *sql.Tx) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.Do(ctx, db, invocation, action)
}

// Do runs an action in a transaction that also claims its key and records its answer. Either all of that
// is committed, or nothing is: an action that returns an error, panics or dies with its process leaves the
// key as it was, and can be called again with an invocation prepared anew. If the key has an answer, that
// is returned, and the action is not run; for that nobody waits for the file's write lock.
//
// The pool is one of the file that holds the store, with the driver modernc.org/sqlite or one on top of it.
// In one process the locks of two SQLite libraries do not exclude each other, so one that brings its own is
// refused. So is a connection whose synchronous is less than FULL, because a loss of power would lose effects
// that were acknowledged. The pool needs neither a busy_timeout nor immediate transactions. The write
// lock is taken by a first statement that changes nothing, as BEGIN IMMEDIATE would, so whatever is read
// after it is the latest. In a pool of one connection, and in one with a shared cache, replays wait for the
// action that is running.
//
// The action uses tx as it likes, for tables of the same file: those of attached databases do not commit
// atomically with it. What it wants to undo by itself it puts into a savepoint. It does not wait for
// another writer to the same file, such as a guard on the same store; for a second key there is
// [Effects.JoinSQL]. Its time is bounded: see Limit.
//
// The action does not end tx. Should it do so, that is noticed. After tx.Rollback the key is as it was. After a
// commit the error is [store.ErrIndeterminate], and the key is not run again: the record that it has begun was
// committed as well. After a ROLLBACK in SQL, or one by SQLite itself (a full disk, a failing one), it is so too, and the
// key becomes unknown: what came after it was committed statement by statement. An action whose statement was rolled
// back by SQLite returns the error of that, and the key is as it was.
func (e Effects) Do(ctx context.Context, db *sql.DB, invocation *store.Invocation, action func(ctx context.Context, tx *sql.Tx) (machine.Response, error)) (store.Effect, error) {
	p, err := e.prepare(ctx, invocation)
	if err != nil {
		return store.Effect{}, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return store.Effect{}, p.unsent(ctx, err)
	}
	defer conn.Close()
	if known, result, err := p.glance(ctx, conn); known || err != nil {
		return result, err
	}
	h, err := p.begin(ctx, conn)
	defer h.end()
	a := &attempt{effect: p, tx: h.tx, conn: conn}
	if err != nil {
		return store.Effect{}, a.undone(ctx, h.ended(), err)
	}
	result, err := a.run(h.ctx, func(ctx context.Context) (machine.Response, error) { return action(ctx, h.tx) })
	switch {
	case err == nil && result.Replayed:
		return result, nil
	case err == nil:
		if err = a.commit(h); err == nil {
			return p.done(result)
		}
		discard(conn) // some drivers leave a transaction open whose commit has failed
	}
	ended := h.ended()
	if !a.over {
		return store.Effect{}, a.undone(ctx, ended, err)
	}
	h.end()
	conn.Close() // waits for database/sql, should that be rolling back
	return a.settle(ctx, db, ended, result, err)
}

// effect is one call of Do or JoinSQL.
type effect struct {
	invocation *store.Invocation
	store      *Store // may be nil
	now        func() time.Time
	patience   time.Duration
	limit      time.Duration
	file       string // as errors name it
}

var errNoCandidate = errors.New("the invocation names no key: prepare it with the guard")

func (e Effects) prepare(ctx context.Context, invocation *store.Invocation) (*effect, error) {
	p := &effect{invocation: invocation, store: e.Store, now: time.Now, patience: e.BusyTimeout, limit: e.Limit, file: "the pool's database"}
	if p.patience <= 0 {
		p.patience = defaultEffectBusy
	}
	if p.limit <= 0 {
		p.limit = defaultEffectLimit
	}
	if len(invocation.Candidates) == 0 {
		return nil, store.Unavailable(errNoCandidate)
	}
	if e.Store == nil {
		return p, store.NotSent(ctx)
	}
	p.now, p.file = e.Store.now, e.Store.path
	return p, e.Store.usable(ctx)
}

// held is a transaction that holds the write lock, for a bounded time.
type held struct {
	tx     *sql.Tx
	ctx    context.Context
	cancel context.CancelFunc
}

// end rolls back what is still open.
func (h *held) end() {
	if h.tx != nil {
		_ = h.tx.Rollback() // it has ended, or is given up
	}
	if h.cancel != nil {
		h.cancel()
	}
	h.tx, h.cancel = nil, nil
}

// discard closes a connection instead of giving it back to its pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// ended returns why the time is over, nil if it is not.
func (h *held) ended() error {
	if h.ctx == nil {
		return nil
	}
	return context.Cause(h.ctx)
}

var errLimit = errors.New("the action took too long")

// begin begins a transaction and takes the write lock.
func (e *effect) begin(ctx context.Context, conn *sql.Conn) (*held, error) {
	h := &held{}
	return h, e.patiently(ctx, conn, func() (err error) {
		h.end()
		h.ctx, h.cancel = context.WithTimeoutCause(ctx, e.limit, errLimit)
		if h.tx, err = conn.BeginTx(h.ctx, nil); err == nil {
			_, err = h.tx.ExecContext(h.ctx, effectLockSQL)
		}
		return err
	})
}
