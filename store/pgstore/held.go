package pgstore

import (
	"bytes"
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// held is a record whose lock is held.
type held struct {
	digest    machine.Digest
	locked    bool            // else nothing below means anything
	at        machine.Instant // the time, read under the lock
	isolation string          // of the transaction
	began     []byte          // when the transaction of an effect did, as the server sends it: no other one of its session has the same
	stands    bool            // there is a row
	answered  bool            // in the table of answers
	awaited   bool            // somebody wants to be notified
	record    *machine.Record // nil: none
}

// requests are those that take the lock, with a statement and its arguments, and load the record, in an
// open transaction. Afterwards ok says whether the lock was free.
func (h *held) requests(lock string, arguments [][]byte, load string) []request {
	return []request{
		{lock, arguments, h.readLock},
		{load, [][]byte{headForm(&h.digest), tailForm(&h.digest)}, h.readLoaded},
	}
}

// readLock reads what lock.sql and lock_effect.sql return.
func (h *held) readLock(columns [][]byte) error {
	switch len(columns) {
	case 2:
	case 3:
		h.began = bytes.Clone(columns[2])
	default:
		return errColumns
	}
	if h.locked = columns[0] != nil; h.locked {
		h.at = readTimestamp(columns[0])
	}
	h.isolation = string(columns[1])
	return nil
}

// readLoaded reads the row that load.sql returns, if there is one.
func (h *held) readLoaded(columns [][]byte) error {
	if len(columns) != 6 {
		return errColumns
	}
	found, err := readRow(columns[1:])
	if err != nil {
		return err
	}
	return h.found(found, readBool(columns[0]))
}

// found notes the row that is there.
func (h *held) found(row *form.Row, awaited bool) (err error) {
	if !h.locked {
		return nil // it may be another one by now
	}
	h.stands, h.answered, h.awaited = true, row.Answered, awaited
	h.record, err = unpack(h.digest, *row)
	return err
}

func (h *held) ok() error {
	if !h.locked {
		return errBusy
	}
	return nil
}

// hold begins a transaction, takes the lock of a key and loads its record, in one round trip. If it
// returns an error, the transaction has ended.
func (s *Store) hold(ctx context.Context, conn *pgx.Conn, digest machine.Digest) (*held, error) {
	h := &held{digest: digest}
	requests := []request{{sql: beginSQL}}
	if s.address.bouncer { // else the session has all that
		requests = append(requests, request{sql: s.sql.transaction}, request{sql: "SET LOCAL " + idleSetting + " = " + s.idle()})
	}
	err := exchange(ctx, conn, s.address.bouncer, append(requests, h.requests(s.sql.lock, [][]byte{lockForm(&h.digest)}, s.sql.load)...)...)
	if err == nil {
		err = h.ok()
	}
	if err != nil {
		letGo(ctx, conn)
		return nil, err
	}
	return h, nil
}
