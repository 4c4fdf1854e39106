package sqlitestore

import "github.com/reprise-dev/reprise/machine"

// memory holds unanswered records that the writer wrote itself, so that the commands which follow do not
// have to load them. It is good for as long as nobody else changes the file: SQLite counts the changes of
// a file, whoever makes them, and the count is compared under the lock before anything is taken from here.
type memory struct {
	version uint32 // SQLite's count after our last change
	rows    map[machine.Digest]row
}

// row is a record and where it is.
type row struct {
	id     int64
	record *machine.Record
}

// memoryLimit is how many records are held at most. A record is about half a kilobyte.
const memoryLimit = 4096

// check is called under the lock, before the first command of a transaction.
func (m *memory) check(c *conn) {
	if version, ok := c.version(); !ok || version != m.version {
		m.forgetAll()
	}
}

// committed is called when the transaction's own changes are on the disk.
func (m *memory) committed(c *conn) {
	version, ok := c.version()
	if m.version = version; !ok {
		m.forgetAll()
	}
}

// put remembers a record as it was just written. Answers are not held: nothing follows them but replays,
// which read for themselves.
func (m *memory) put(id int64, r *machine.Record) {
	digest := r.Scope.Digest
	if r.State == machine.Completed {
		delete(m.rows, digest)
		return
	}
	for old := range m.rows {
		if len(m.rows) < memoryLimit {
			break
		}
		delete(m.rows, old)
	}
	m.rows[digest] = row{id, r}
}

func (m *memory) forget(digest machine.Digest) { delete(m.rows, digest) }

// forgetAll is for when rows may be other than they were written.
func (m *memory) forgetAll() { clear(m.rows) }
