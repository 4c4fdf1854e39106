package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// step loads a record under its lock, decides and writes. A key that is held is asked for again until the
// context ends, which is certain not to have changed anything; but a claim on a key that an effect holds is
// told so. With a doubt it first finds out whether the command was committed before, and answers as if the
// reply had not been lost.
func (s *Store) step(ctx context.Context, command machine.Command, d *form.Doubt) (machine.Reply, error) {
	leave, err := s.turns.Take(ctx, command.Target().Digest)
	if err != nil {
		return machine.Reply{}, d.Or(store.Unavailable(errors.Join(err, errBusy)))
	}
	defer leave()
	wait, patience := gather.NewBackoff(), time.Now().Add(s.options.Timeout)
	for {
		reply, read, doubtful, err := s.stepOnce(ctx, command, d)
		if err == nil {
			err = s.durable(ctx, read)
		}
		switch {
		case err == nil:
			return reply, nil
		case doubtful != nil:
			d = doubtful
		case errors.Is(err, errBusy) && d == nil && claims(command):
			if reply, ok, err := s.underWay(ctx, command.Target().Digest); ok || err != nil {
				return reply, err
			}
		case errors.Is(err, errBusy):
		case d == nil || !errors.Is(err, store.ErrUnavailable) || time.Now().After(patience):
			return machine.Reply{}, d.Or(err)
		}
		if !wait.Sleep(ctx) {
			return machine.Reply{}, d.Or(store.Unavailable(errors.Join(context.Cause(ctx), err)))
		}
		select {
		case <-s.closing:
			return machine.Reply{}, d.Or(store.Unavailable(errClosed))
		default:
		}
	}
}

// stepOnce is one transaction. It returns errBusy if the key is held, and a doubt if its commit got no
// reply. Where it has changed nothing, the reply holds once the record that was read is durable.
func (s *Store) stepOnce(ctx context.Context, command machine.Command, d *form.Doubt) (reply machine.Reply, read *machine.Record, doubt *form.Doubt, err error) {
	err = s.within(ctx, s.steps, func(c *conn) error {
		var keep bool
		reply, read, doubt, keep, err = s.stepOn(ctx, c, command, d)
		if !keep {
			s.letGo(ctx, c)
		}
		return err
	})
	if doubt != nil || errors.Is(err, errOvertaken) { // which is no error of the server, and does not pass
		return machine.Reply{}, nil, doubt, err
	}
	return reply, read, nil, unsent(ctx, err)
}

// stepOn is stepOnce on a connection. ended says that the transaction has ended already.
func (s *Store) stepOn(ctx context.Context, c *conn, command machine.Command, d *form.Doubt) (reply machine.Reply, read *machine.Record, doubt *form.Doubt, ended bool, err error) {
	h, err := s.hold(ctx, c, command.Target().Digest)
	if err != nil {
		return reply, nil, nil, false, err
	}
	if d != nil {
		next, reply, ok := d.Settle(command, h.record, h.at)
		switch {
		case ok:
			s.changed(h.digest, next, nil)
			return reply, h.record, nil, false, nil
		case !form.Same(d.Previous, h.record):
			// Applied now, it would be answered as if it had not been applied before.
			return reply, nil, nil, false, errOvertaken
		}
	}
	next, reply := machine.Step(h.record, command, h.at.Time())
	if !h.stands && (next != nil || reply.Outcome == machine.Barred) {
		if err := s.holdAbsent(ctx, c, h); err != nil {
			return reply, nil, nil, false, err
		}
		next, reply = machine.Step(nil, command, h.at.Time())
	}
	if next == h.record {
		return reply, h.record, nil, false, nil
	}
	result, err := c.exec(ctx, s.change(h, next))
	switch {
	case err != nil && held(err):
		return reply, nil, nil, false, errBusy
	case err != nil:
		if err = sent(err); errors.Is(err, store.ErrIndeterminate) {
			doubt = &form.Doubt{Previous: h.record, At: h.at, Cause: err}
		}
		return reply, nil, doubt, false, err
	case result.AllRowsAffected()[0] != 1:
		return reply, nil, nil, true, errMoved
	}
	s.committed(h.digest, next, nil, h.at)
	return reply, nil, nil, true, nil
}

// holding is a record whose row is locked.
type holding struct {
	digest machine.Digest
	at     machine.Instant // the time, read under the lock
	stands bool            // there is a row; else nothing is locked
	record *machine.Record // nil: none
}

// hold begins a transaction, locks the row of a key if it has one, and reads the time, in one round trip.
func (s *Store) hold(ctx context.Context, c *conn, digest machine.Digest) (*holding, error) {
	h := &holding{digest: digest}
	err := c.query(ctx, s.sql.start.with()+s.sql.hold.with(digest), nil, func(set int, columns []driver.Value) error {
		if set == 1 {
			h.at = readInstant(columns[0])
			return nil
		}
		row, err := readRow(columns)
		if err == nil {
			h.stands = true
			h.record, err = form.Unpack(digest, row)
		}
		return err
	})
	switch {
	case err != nil && held(err):
		return nil, errBusy
	case err == nil && h.at == 0:
		err = errNoTime
	}
	s.saw(h.at)
	return h, err
}

// holdAbsent takes the lock of a key that has no record, and reads the time again.
func (s *Store) holdAbsent(ctx context.Context, c *conn, h *holding) error {
	var at int64
	err := c.readOne(ctx, s.sql.holdAbsent.with(h.digest), &at)
	switch {
	case err != nil && (held(err) || number(err) == duplicateKey):
		return errBusy // by now there may be one
	case err == nil && at == 0:
		err = errNoTime
	}
	h.at = machine.Instant(at)
	return err
}

// change returns the statements that make a record that is held the next one, nil: none, and commit.
func (s *Store) change(h *holding, next *machine.Record) string {
	if next == nil {
		return string(s.sql.commit.append(s.sql.deleteText.append(nil, h.digest)))
	}
	to := form.Pack(next)
	return string(s.sql.commit.append(s.sql.write.append(nil, to.ClaimedAt, to.ForgetAt, to.Record, to.Answer, h.digest)))
}
