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

	beginning, committing, rollingBack *statement
	inserting, updating, deleting      *statement

	wrote   bool             // something, so that there is something to commit
	changed []machine.Digest // records, for those who watch them
	bytes   int              // written so far
	packed  []byte           // used again for each record
}

func newTransaction(c *conn) (t *transaction, err error) {
	t = &transaction{conn: c}
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
	return t.beginning.exec()
}

// commit makes the changes durable. Where there are none, there is nothing to wait for.
func (t *transaction) commit() error {
	if !t.wrote {
		return t.rollback()
	}
	return t.committing.exec()
}

// rollback undoes the changes. SQLite may have done so by itself after a failure; that is no error.
func (t *transaction) rollback() error {
	t.changed = t.changed[:0]
	if err := t.rollingBack.exec(); err != nil && code(err) != lib.SQLITE_ERROR {
		return err
	}
	return nil
}

// run runs a request. An error means that the transaction cannot go on; what is only the request's own
// trouble becomes its answer.
func (t *transaction) run(r *request, now time.Time) (err error) {
	if r.task != nil {
		t.wrote = true
		return r.task(t, now)
	}
	r.err = nil // of a first try in a larger group
	if r.reply, err = t.step(r.command, now); damaged(err) {
		r.err, err = err, nil
	}
	return err
}

// step is machine.Step on the row of the command's target.
func (t *transaction) step(command machine.Command, now time.Time) (machine.Reply, error) {
	id, record, err := t.records.load(command.Target().Digest)
	if err != nil {
		return machine.Reply{}, err
	}
	next, reply := machine.Step(record, command, now)
	switch {
	case next == record:
		return reply, nil
	case next == nil:
		err = t.delete(id, record.Scope.Digest)
	case record == nil:
		err = t.insert(next)
	default:
		err = t.update(id, next)
	}
	return reply, err
}

func (t *transaction) insert(r *machine.Record) error {
	packed, err := t.pack(r)
	if err != nil {
		return err
	}
	return t.inserting.exec(r.Scope.Digest[:], int64(r.State), r.Scope.Operation, int64(r.Scope.SecretVersion),
		int64(r.Revision), int64(r.LeaseEnd), nullable(r.ForgottenAt()), packed)
}

func (t *transaction) update(id int64, r *machine.Record) error {
	packed, err := t.pack(r)
	if err != nil {
		return err
	}
	return t.updating.exec(int64(r.State), int64(r.Revision), int64(r.LeaseEnd), nullable(r.ForgottenAt()), packed, id)
}

func (t *transaction) delete(id int64, digest machine.Digest) error {
	t.note(digest)
	return t.deleting.exec(id)
}

// pack returns the stored form, in memory that is used again.
func (t *transaction) pack(r *machine.Record) (packed []byte, err error) {
	if packed, err = r.AppendBinary(t.packed[:0]); err != nil {
		return nil, err
	}
	if cap(packed) <= maxKeptBuffer {
		t.packed = packed
	}
	t.bytes += len(packed)
	t.note(r.Scope.Digest)
	return packed, nil
}

func (t *transaction) note(digest machine.Digest) {
	t.wrote, t.changed = true, append(t.changed, digest)
}

// maxKeptBuffer keeps one large answer from holding memory for ever.
const maxKeptBuffer = 1 << 20

