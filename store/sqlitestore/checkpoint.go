package sqlitestore

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// SQLite copies the log back into the file every few thousand pages by itself, and starts the log anew
// when nobody reads from it at that moment. Where somebody always does, the log would grow without end;
// so once in a while the writer's goroutine looks, between groups, and if need be holds the lock until the last
// reader has moved on. New readers do not need the log by then, and reads are short. No request is answered later
// for it but those that come meanwhile.
const (
	logLimit       = 16_384 // pages: 64 MiB
	logLookEvery   = time.Second
	logRetryEvery  = 10 * time.Second // after somebody has read for longer than the patience
	logPatience    = 500 * time.Millisecond
	logSizeSQL     = "PRAGMA wal_checkpoint(NOOP)"
	logTruncateSQL = "PRAGMA wal_checkpoint(TRUNCATE)"
)

// tidyLog looks at the log if it is time to. What cannot be done now is tried again later: nothing depends on it but the size
// of a file, while all that is to be written waits for the try.
func (w *writer) tidyLog() {
	if !w.untidied() {
		return
	}
	pause := logLookEvery
	if w.tx.conn.logPages() > w.logLimit && !w.tx.conn.truncateLog() {
		pause = logRetryEvery
	}
	w.lookAt = time.Now().Add(pause)
}

// untidied reports whether it is time to look at the log.
func (w *writer) untidied() bool { return w.tx != nil && !time.Now().Before(w.lookAt) }

// logPages returns how many pages are in the log, 0 if that cannot be told.
func (c *conn) logPages() (pages int64) {
	_ = c.query(logSizeSQL, 3, func(row []driver.Value) error {
		pages, _ = row[1].(int64)
		return nil
	})
	return pages
}

// truncateLog reports whether the log was truncated, which who reads from it for long prevents.
func (c *conn) truncateLog() (done bool) {
	wait := func(d time.Duration) error { return c.exec(fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds())) }
	if wait(logPatience) == nil {
		_ = c.query(logTruncateSQL, 3, func(row []driver.Value) error {
			busy, ok := row[0].(int64)
			done = ok && busy == 0
			return nil
		})
		_ = wait(0)
	}
	return done
}
