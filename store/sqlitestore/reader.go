package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// reader is a connection that reads committed records. Each query is a snapshot of its own.
type reader struct {
	conn    *conn
	records *loader
}

func openReader(path string, busy time.Duration) (*reader, error) {
	c, err := connect(path, busy, readerCache)
	if err != nil {
		return nil, err
	}
	records, err := newLoader(c)
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return &reader{conn: c, records: records}, nil
}

// borrow returns an idle reader. The caller gives it back.
func (s *Store) borrow(ctx context.Context) (*reader, error) {
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	select {
	case r := <-s.readers:
		return r, nil
	case <-ctx.Done():
		return nil, store.Unavailable(context.Cause(ctx))
	case <-s.closing:
		return nil, store.Unavailable(errClosed)
	}
}

func (s *Store) giveBack(r *reader) { s.readers <- r }

// peek returns the record as it is committed now.
func (s *Store) peek(ctx context.Context, digest machine.Digest) (*machine.Record, error) {
	r, err := s.borrow(ctx)
	if err != nil {
		return nil, err
	}
	defer s.giveBack(r)
	_, record, err := r.records.load(digest)
	if err != nil {
		return nil, s.certain(err)
	}
	return record, nil
}

// loader loads records by their digest on one connection.
type loader struct {
	stmt   *statement
	digest machine.Digest
	id     int64
	record *machine.Record
}

func newLoader(c *conn) (*loader, error) {
	stmt, err := c.prepare(loadSQL)
	if err != nil {
		return nil, err
	}
	stmt.row = make([]driver.Value, 2)
	return &loader{stmt: stmt}, nil
}

// load returns a record and the id of its row, nil and 0 if there is none.
func (l *loader) load(digest machine.Digest) (int64, *machine.Record, error) {
	l.digest, l.id, l.record = digest, 0, nil
	err := l.stmt.query(l.visit, l.digest[:])
	return l.id, l.record, err
}

func (l *loader) visit(row []driver.Value) (err error) {
	l.id, _ = row[0].(int64)
	packed, _ := row[1].([]byte)
	l.record, err = decode(l.digest, packed)
	return err
}

// decode unpacks a row. Rows that do not make sense are damaged, whatever is wrong with them.
func decode(digest machine.Digest, packed []byte) (*machine.Record, error) {
	record, err := machine.DecodeRecord(digest, packed)
	if err != nil {
		return nil, store.Corrupt(digest, err)
	}
	return record, nil
}

// digestOf reads the digest of a row.
func digestOf(value driver.Value) (d machine.Digest, err error) {
	b, _ := value.([]byte)
	if copy(d[:], b) != len(d) || len(b) != len(d) {
		return d, fmt.Errorf("%w: a row's digest has %d bytes", store.ErrCorrupt, len(b))
	}
	return d, nil
}
