package sqlitestore

import (
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/machine"
)

// transaction is the writer's connection, with what one transaction after another needs.
type transaction struct {
	conn    *conn
	records *loader
	memory  memory

	beginning, committing, rollingBack *statement
	inserting, updating, deleting      *statement

	wrote   bool             // something, so that there is something to commit
	changed []machine.Digest // records, for those who watch them
	bytes   int              // written so far
	packed  []byte           // used again for each record
}

func newTransaction(c *conn) (t *transaction, err error) {
	t = &transaction{conn: c, memory: memory{rows: map[machine.Digest]row{}}}
	if t.records, err = newLoader(c); err != nil {
		return nil, err
	}
	for _, p := range []struct {
		statement **statement
		sql       string
	}{
		{&t.beginning, "BEGIN IMMEDIATE"}, {&t.committing, "COMMIT"}, {&t.rollingBack, "ROLLBACK"},
		{&t.inserting, insertSQL}, {&t.updating, updateSQL}, {&t.deleting, deleteSQL},
	} {
		if *p.statement, err = c.prepare(p.sql); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// begin takes the write lock; what is read from here on is the latest, and stays so.
func (t *transaction) begin() error {
	t.wrote, t.changed, t.bytes = false, t.changed[:0], 0
	if err := t.control(t.beginning); err != nil {
		return err
	}
	t.memory.check(t.conn)
	return nil
}

// commit makes the changes durable. Where there are none, there is nothing to wait for.
func (t *transaction) commit() error {
	if !t.wrote {
		return t.rollback()
	}
	if err := t.control(t.committing); err != nil {
		return err
	}
	t.memory.committed(t.conn)
	return nil
}

// rollback undoes the changes. SQLite may have done so by itself after a failure; that is no error.
func (t *transaction) rollback() error {
	if t.wrote {
		t.memory.forgetAll()
	}
	t.changed = t.changed[:0]
	if err := t.control(t.rollingBack); err != nil && code(err) != lib.SQLITE_ERROR {
		return err
	}
	return nil
}

func (t *transaction) control(s *statement) error {
	_, err := s.exec()
	return err
}

// run runs a request. An error means that the transaction cannot go on; what is only the request's own
// trouble becomes its answer.
func (t *transaction) run(r *request, now time.Time) (err error) {
	if r.task != nil {
		t.wrote = true
		t.memory.forgetAll()
		return r.task(t, now)
	}
	r.err = nil // of a first try in a larger group
	if r.reply, err = t.apply(r.command, r.fresh, now); damaged(err) {
		r.err, err = err, nil
	}
	return err
}

// apply runs a command. One whose record was absent a moment ago is tried as an insert at first: the
// index says whether it still is, and saves looking for it.
func (t *transaction) apply(command machine.Command, fresh bool, now time.Time) (machine.Reply, error) {
	if fresh {
		if next, reply := machine.Step(nil, command, now); next != nil {
			if inserted, err := t.insert(next); inserted || err != nil {
				return reply, err
			}
		}
	}
	return t.step(command, now)
}

// step is machine.Step on the row of the command's target.
func (t *transaction) step(command machine.Command, now time.Time) (machine.Reply, error) {
	at, err := t.find(command.Target().Digest)
	if err != nil {
		return machine.Reply{}, err
	}
	next, reply := machine.Step(at.record, command, now)
	switch {
	case next == at.record:
		return reply, nil
	case next == nil:
		err = t.delete(at.id, at.record.Scope.Digest)
	case at.record == nil:
		_, err = t.insert(next)
	default:
		err = t.update(at.id, next)
	}
	return reply, err
}

// find returns the row of a record, which is the zero row if there is none.
func (t *transaction) find(digest machine.Digest) (row, error) {
	if found, ok := t.memory.rows[digest]; ok {
		return found, nil
	}
	id, record, err := t.records.load(digest)
	return row{id, record}, err
}

// insert reports whether it wrote: not if there is a record already.
func (t *transaction) insert(r *machine.Record) (bool, error) {
	packed, err := t.pack(r)
	if err != nil {
		return false, err
	}
	id, changed, err := t.inserting.insert(insertArgs(r, packed)...)
	if changed {
		t.note(r.Scope.Digest, len(packed))
		t.memory.put(id, r)
	}
	return changed, err
}

func (t *transaction) update(id int64, r *machine.Record) error {
	packed, err := t.pack(r)
	if err != nil {
		return err
	}
	t.note(r.Scope.Digest, len(packed))
	t.memory.put(id, r)
	return one(t.updating.exec(updateArgs(id, r, packed)...))
}

func (t *transaction) delete(id int64, digest machine.Digest) error {
	t.note(digest, 0)
	t.memory.forget(digest)
	return one(t.deleting.exec(id))
}

// one returns the error of a statement that was to change one row: a change of none would be acknowledged, and lost.
func one(rows int64, err error) error {
	if err == nil && rows != 1 {
		return errMoved
	}
	return err
}

// pack returns the stored form, in memory that is used again.
func (t *transaction) pack(r *machine.Record) (packed []byte, err error) {
	if packed, err = r.AppendBinary(t.packed[:0]); err == nil && cap(packed) <= maxKeptBuffer {
		t.packed = packed
	}
	return packed, err
}

// note keeps what a change of a record means for the commit.
func (t *transaction) note(digest machine.Digest, bytes int) {
	t.wrote, t.changed, t.bytes = true, append(t.changed, digest), t.bytes+bytes
}

// maxKeptBuffer keeps one large answer from holding memory for ever.
const maxKeptBuffer = 1 << 20
