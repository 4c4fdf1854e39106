package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// look is one record that somebody wants to see.
type look struct {
	digest machine.Digest
	at     machine.Instant // before the snapshot
	found  *form.Row       // nil: none
}

// record returns what was seen.
func (l *look) record() (*machine.Record, error) {
	if l.found == nil {
		return nil, nil
	}
	return form.Unpack(l.digest, *l.found)
}

var errNoTime = errors.New("the server did not tell the time")

// peek returns the record as it is committed, nil if there is none, and a time before that.
func (s *Store) peek(ctx context.Context, digest machine.Digest) (*machine.Record, machine.Instant, error) {
	l := &look{digest: digest}
	if err := s.looks.Do(ctx, l); err == gather.ErrWithdrawn || err == gather.ErrLeft {
		return nil, 0, store.Unavailable(context.Cause(ctx))
	} else if err != nil {
		return nil, 0, err
	}
	record, err := l.record()
	return record, l.at, err
}

// lookUp fetches what a group of callers wants to see. Nothing is changed, so it is tried again on another
// connection if one turns out to be broken, or ended by the server.
func (s *Store) lookUp(ctx context.Context, jobs []*gather.Job[look]) {
	look := func(c *conn) error { return s.lookUpOn(ctx, c, jobs) }
	err := s.on(ctx, look)
	if err != nil && dsn.NumberInDoubt(number(err)) && ctx.Err() == nil {
		err = s.on(ctx, look)
	}
	for _, j := range jobs {
		j.Err = unsent(ctx, err)
	}
}

func (s *Store) lookUpOn(ctx context.Context, c *conn, jobs []*gather.Job[look]) error {
	if len(jobs) == 1 {
		if done, err := s.lookUpOne(ctx, c, jobs[0].Work); done || err != nil {
			return err
		}
	}
	keys := make([]machine.Digest, len(jobs))
	for i, j := range jobs {
		keys[i] = j.Work.digest
	}
	found, at, err := s.lookAt(ctx, c, keys)
	for _, j := range jobs {
		j.Work.at, j.Work.found = at, found[j.Work.digest]
	}
	return err
}

// lookUpOne looks for a record that is there: who asks for a key mostly gets one.
func (s *Store) lookUpOne(ctx context.Context, c *conn, l *look) (done bool, err error) {
	err = c.query(ctx, s.sql.look, []driver.Value{l.digest[:]}, func(_ int, columns []driver.Value) error {
		row, err := readRow(columns[1:])
		l.at, l.found, done = readInstant(columns[0]), &row, true
		return err
	})
	return done, err
}

// lookAt returns the rows of those keys that have one, and a time before the snapshot.
func (s *Store) lookAt(ctx context.Context, c *conn, keys []machine.Digest) (found map[machine.Digest]*form.Row, at machine.Instant, err error) {
	found = make(map[machine.Digest]*form.Row, len(keys))
	err = c.query(ctx, s.sql.lookMany.with(digests(keys)), nil, func(_ int, columns []driver.Value) error {
		if columns[1] == nil {
			at = readInstant(columns[0])
			return nil
		}
		digest, err := readDigest(columns[1])
		if err != nil {
			return err
		}
		row, err := readRow(columns[2:])
		found[digest] = &row
		return err
	})
	if err == nil && at == 0 {
		err = errNoTime
	}
	s.saw(at)
	return found, at, err
}
