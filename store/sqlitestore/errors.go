package sqlitestore

import (
	"errors"
	"fmt"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/store"
)

var (
	errClosed   = errors.New("the store is closed")
	errMoved    = errors.New("the record is not as it was read, under the lock: it is for the store alone to write")
	errReadOnly = errors.New("the file is read-only: give this user the right to write it and its directory, or choose another path")
)

// extendedCode returns SQLite's result code of an error, 0 for another kind of error.
func extendedCode(err error) int {
	var coded interface {
		error
		Code() int
	}
	if errors.As(err, &coded) {
		return coded.Code()
	}
	return 0
}

// code returns SQLite's primary result code of an error, 0 for another kind of error.
func code(err error) int { return extendedCode(err) & 0xff }

// busy reports whether somebody else holds a lock.
func busy(err error) bool { return code(err) == lib.SQLITE_BUSY }

// stale reports whether a transaction cannot write because it has read, and another has written since.
func stale(err error) bool { return extendedCode(err) == lib.SQLITE_BUSY_SNAPSHOT }

// explain adds to an error of SQLite what to do about it.
func explain(path string, err error) error {
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("another process, or an effect of this one, keeps %s locked: find it (for example with lsof), or wait longer: %w", path, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("there is no room left for %s: free disk space or purge records: %w", path, err)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("%s, or its directory, is read-only: give this user the right to write both, or choose another path: %w", path, err)
	case lib.SQLITE_PERM, lib.SQLITE_CANTOPEN:
		return fmt.Errorf("%s cannot be opened: check that it is a file, and that this user may read and write it and its directory: %w", path, err)
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%s is not a SQLite database: choose another path, or move the file away to start a new one: %w", path, err)
	case lib.SQLITE_IOERR:
		return fmt.Errorf("the disk under %s fails: look at the system's log: %w", path, err)
	case lib.SQLITE_CORRUPT:
		return fmt.Errorf("%s is damaged: stop, keep a copy, then look at it with `PRAGMA integrity_check` and restore it from a backup: %w", path, err)
	}
	return err
}

// certain translates an error of something that was certainly not applied.
func (s *Store) certain(err error) error { return certain(s.path, err) }

func certain(path string, err error) error {
	if errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	explained := explain(path, err)
	if code(err) == lib.SQLITE_CORRUPT {
		return fmt.Errorf("%w: %w", store.ErrCorrupt, explained)
	}
	return store.Unavailable(explained)
}

// certainlyNotCommitted reports whether a COMMIT that failed has left nothing behind. After a failed
// sync nobody knows: the commit may be in the log, and come back when the log is read after a crash.
func certainlyNotCommitted(err error) bool {
	switch code(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_FULL, lib.SQLITE_READONLY, lib.SQLITE_CONSTRAINT:
		return true
	}
	return false
}

// damaged reports whether an error is about one record that cannot be unpacked, rather than about the
// file.
func damaged(err error) bool { return errors.Is(err, store.ErrCorrupt) }
