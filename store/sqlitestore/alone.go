package sqlitestore

import (
	"time"
)

// quickCommit is how long the last commit may have taken for the next caller to run its own.
const quickCommit = 20 * time.Millisecond

// alone runs a command on its caller's goroutine, as a group of one, if nobody else wants to write. Handing it
// to the writer's goroutine and back wakes two sleeping threads, which costs a third of what a commit does.
//
// A caller cannot leave a commit that it runs itself when its context ends. So this is for times when
// commits are quick, and nothing is waited for: where the file is locked, the command goes the usual way. Nor does
// it tidy the log up, which may take long and has nothing to do with the command: that is left to the writer.
func (w *writer) alone(r *request) (done bool) {
	if w.detached || !w.mu.TryLock() {
		return false
	}
	defer w.mu.Unlock()
	if w.crowded() || w.begin(time.Time{}) != nil {
		return false
	}
	r.claim()
	w.group = append(w.group, r)
	if err := w.tx.run(r, w.store.now()); err != nil {
		w.undo(err)
	} else {
		w.commit()
	}
	if w.untidied() {
		select {
		case w.untidy <- struct{}{}:
		default: // it knows
		}
	}
	return true
}

// crowded reports whether a command should go the usual way.
func (w *writer) crowded() bool {
	select {
	case <-w.store.closing:
		return true // the connection is the writer's to close
	default:
		return w.last > 1 || len(w.queue) > 0 || w.polite > 0 || w.took > quickCommit
	}
}
