package sqlitestore

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/store"
)

// writer is the goroutine that changes the file. It takes what waits, runs it as a group in one
// transaction and answers once that is committed.
type writer struct {
	store    *Store
	limit    int
	busy     time.Duration
	detached bool
	queue    chan *request
	untidy   chan struct{} // a signal that it is time to look at the log
	stopped  chan struct{} // closed when everything that was taken is answered
	failure  error         // of closing the connection; read after stopped

	logLimit int64     // pages of the log at which it is truncated
	lookAt   time.Time // when the log is to be looked at next

	held *request // the first of the next group

	mu     sync.Mutex    // held by whoever runs a group: the writer's goroutine, or a caller that is alone
	tx     *transaction  // nil when the connection has to be made again
	group  []*request    // taken and not yet answered
	last   int           // how many requests the last group had
	polite int           // groups after which another process is let in
	took   time.Duration // by the last commit
}

// maxGroupBytes ends a group early: answers may be large, and all of a group's are in memory at once.
const maxGroupBytes = 8 << 20

// politeGroups is for how many groups the writer stays polite after it met another process.
const politeGroups = 1000

func startWriter(s *Store, options Options) (*writer, error) {
	w := &writer{
		store: s, limit: options.GroupLimit, busy: options.BusyTimeout, detached: options.Detached,
		queue: make(chan *request, 2*options.GroupLimit), untidy: make(chan struct{}, 1), stopped: make(chan struct{}), logLimit: logLimit,
	}
	if err := w.reconnect(); err != nil {
		return nil, err
	}
	if w.tx.conn.readOnly() {
		return nil, errors.Join(errReadOnly, w.tx.conn.close())
	}
	go w.run()
	return w, nil
}

// wait waits until the writer has stopped, and returns what went wrong with that.
func (w *writer) wait() error {
	<-w.stopped
	return w.failure
}

func (w *writer) run() {
	defer close(w.stopped)
	for r := w.next(); r != nil; r = w.next() {
		w.serve(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.tx != nil {
		w.failure = w.tx.conn.close()
	}
}

// next waits for the first request of a group. It is nil when the store is closed and nothing waits.
func (w *writer) next() *request {
	if r := w.held; r != nil {
		w.held = nil
		return r
	}
	for open := true; open; {
		select {
		case r := <-w.queue:
			return r
		case <-w.untidy:
			w.tidy()
		case <-w.store.closing:
			open = false
		}
	}
	select {
	case r := <-w.queue:
		return r
	default:
		return nil
	}
}

// tidy looks at the log after a group that a caller has run.
func (w *writer) tidy() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tidyLog()
}

// serve runs a group that begins with first.
func (w *writer) serve(first *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.begin(w.patience()); err != nil {
		w.refuse(first, err)
		return
	}
	w.gather()
	for r := first; r != nil; r = w.more() {
		if !r.claim() {
			continue // its caller has withdrawn it
		}
		w.group = append(w.group, r)
		if err := w.tx.run(r, w.store.now()); err != nil {
			w.undo(err)
			return
		}
		if r.task != nil {
			break
		}
	}
	w.commit()
	w.tidyLog()
}

// patience is until when the writer waits for the lock before those who wait for it are refused.
func (w *writer) patience() time.Time { return time.Now().Add(w.busy) }

// begin takes the file's write lock. It tries at least once.
func (w *writer) begin(patience time.Time) error {
	if err := w.reconnect(); err != nil {
		return w.store.certain(err)
	}
	err := w.tx.begin()
	if code(err) == lib.SQLITE_BUSY {
		w.polite = politeGroups
		err = w.beginPatiently(patience, err)
	}
	switch {
	case err == nil:
		return nil
	case code(err) != lib.SQLITE_BUSY:
		w.abandon()
	}
	return w.store.certain(err)
}

// beginPatiently tries again, after the lock was found busy, until the patience is over.
func (w *writer) beginPatiently(patience time.Time, busy error) error {
	ctx, cancel := context.WithDeadline(context.Background(), patience)
	defer cancel()
	for wait := newBackoff(); wait.sleep(ctx); {
		if err := w.tx.begin(); code(err) != lib.SQLITE_BUSY {
			return err
		}
	}
	return busy
}

// gather lets callers that were just answered come back with their next command, so that they share
// this commit instead of waiting for it. It ends when nobody came. A lone caller is not kept waiting.
func (w *writer) gather() {
	if w.last < 2 {
		return
	}
	for range 4 {
		waiting := len(w.queue)
		runtime.Gosched()
		if len(w.queue) == waiting {
			return
		}
	}
}

// more returns the next request for the running group, nil if it is complete. What comes while the
// group is run belongs to it too.
func (w *writer) more() *request {
	if len(w.group) >= w.limit || w.tx.bytes >= maxGroupBytes {
		return nil
	}
	select {
	case r := <-w.queue:
		if r.task == nil {
			return r
		}
		w.held = r // tasks come alone
	default:
	}
	return nil
}

// commit ends the transaction and answers the group.
func (w *writer) commit() {
	started := time.Now()
	err := w.tx.commit()
	w.took = time.Since(started)
	switch {
	case err == nil:
		w.answer(w.store.file.look())
		w.letOthersIn()
	case certainlyNotCommitted(err):
		w.undo(err)
	default:
		w.abandon()
		w.answer(store.Indeterminate(explain(w.store.path, err)))
	}
}

// answer tells every caller of the group the outcome.
func (w *writer) answer(err error) {
	if err == nil && w.tx != nil {
		w.store.watchers.wake(w.tx.changed)
	}
	for i, r := range w.group {
		w.group[i] = nil
		r.finish(err)
	}
	w.last, w.group = len(w.group), w.group[:0]
}

// undo rolls back after err. A single request has its answer by that. The requests of a group are run
// again one by one: one of them may be to blame, and the others are not to suffer for it. All of them
// together wait for the lock no longer than one.
func (w *writer) undo(err error) {
	w.rollback()
	if len(w.group) == 1 {
		w.answer(w.store.certain(err))
		return
	}
	patience := w.patience()
	for _, r := range slices.Clone(w.group) {
		w.group = append(w.group[:0], r)
		w.again(patience, r, err)
	}
}

// again runs the only request of the group once more, unless nobody waits for it.
func (w *writer) again(patience time.Time, r *request, failure error) {
	if r.left.Load() {
		w.answer(w.store.certain(failure))
		return
	}
	if err := w.begin(patience); err != nil {
		w.answer(err)
	} else if err := w.tx.run(r, w.store.now()); err != nil {
		w.undo(err)
	} else {
		w.commit()
	}
}

// refuse answers everything that waits. Nothing of it was begun.
func (w *writer) refuse(first *request, err error) {
	for r := first; r != nil; r = w.waiting() {
		if r.claim() {
			r.finish(err)
		}
	}
}

func (w *writer) waiting() *request {
	select {
	case r := <-w.queue:
		return r
	default:
		return nil
	}
}

// rollback ends the transaction without a trace.
func (w *writer) rollback() {
	if w.tx != nil && w.tx.rollback() != nil {
		w.abandon()
	}
}

// abandon gives the connection up, which rolls back what it has begun. The next group makes another.
func (w *writer) abandon() {
	if w.tx != nil {
		_ = w.tx.conn.close() // it is given up because something is wrong with it already
		w.tx = nil
	}
}

func (w *writer) reconnect() error {
	if w.tx != nil {
		return nil
	}
	// No waiting inside of SQLite: begin has its own, fairer way.
	c, err := connect(w.store.path, 0, writerCache)
	if err != nil {
		return err
	}
	// Another file may have taken the path meanwhile. It must not get what was meant for this one.
	if err := w.store.file.look(); err != nil {
		return errors.Join(err, c.close())
	}
	tx, err := newTransaction(c)
	if err != nil {
		return errors.Join(err, c.close())
	}
	w.tx = tx
	return nil
}

// letOthersIn leaves the lock alone for a moment if another process was seen to want it lately. SQLite
// has no queue: without this, whoever releases the lock is the first to take it again.
func (w *writer) letOthersIn() {
	if w.polite == 0 {
		return
	}
	w.polite--
	(&backoff{next: 2 * shortestNap}).sleep(context.Background())
}
