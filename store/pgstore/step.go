package pgstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// beginSQL is the isolation that everything under a key's lock relies on: each statement sees what was
// committed before it.
const beginSQL = "BEGIN ISOLATION LEVEL READ COMMITTED"

// doubt is a command that was sent, and nobody knows whether it was committed.
type doubt struct {
	previous *machine.Record // that the command was applied to
	at       machine.Instant // at which it was decided; zero: by a group, the record says
	cause    error
}

// step loads a record under its lock, decides and writes. A key that is held is asked for again until the
// context ends, which is certain not to have changed anything; but a claim on a key that an effect holds is
// told so. With a doubt it first finds out whether the
// command was committed before, and answers as if the reply had not been lost.
func (s *Store) step(ctx context.Context, command machine.Command, d *doubt) (machine.Reply, error) {
	leave, err := s.turns.Take(ctx, command.Target().Digest)
	if err != nil {
		return machine.Reply{}, d.or(store.Unavailable(errors.Join(err, errBusy)))
	}
	defer leave()
	wait, patience := gather.NewBackoff(), time.Now().Add(s.options.Timeout)
	for {
		reply, doubtful, err := s.stepOnce(ctx, command, d)
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
			return machine.Reply{}, d.or(err)
		}
		if !wait.Sleep(ctx) {
			return machine.Reply{}, d.or(store.Unavailable(errors.Join(context.Cause(ctx), err)))
		}
		select {
		case <-s.closing:
			return machine.Reply{}, d.or(store.Unavailable(errClosed))
		default:
		}
	}
}

// or returns what is known at the end: the doubt if there is one, else err.
func (d *doubt) or(err error) error {
	if d == nil {
		return err
	}
	return inDoubtStill(d.cause, err)
}

// inDoubtStill returns the error of something that may have been committed, and of which a later try could
// not find out. What the later error says is true of that try alone, so it is told in words: an error that
// is unavailable, too, would be taken for certain.
func inDoubtStill(cause, later error) error {
	return store.Indeterminate(fmt.Errorf("%w; and then: %s", cause, later.Error()))
}

// stepOnce is one transaction. It returns errBusy if the key is held, and a doubt if its commit got no
// reply.
func (s *Store) stepOnce(ctx context.Context, command machine.Command, d *doubt) (machine.Reply, *doubt, error) {
	conn, release, err := s.acquire(ctx, s.steps)
	if err != nil {
		return machine.Reply{}, nil, err
	}
	defer release()
	digest := command.Target().Digest
	h, err := s.hold(ctx, conn.Conn(), digest)
	if err != nil {
		return machine.Reply{}, nil, unsent(ctx, err)
	}
	if d != nil {
		next, reply, ok := d.settle(command, h)
		switch {
		case ok:
			s.changed(digest, next, nil)
			letGo(ctx, conn.Conn())
			return reply, nil, nil
		case !same(d.previous, h.record):
			// Applied now, it would be answered as if it had not been applied before.
			letGo(ctx, conn.Conn())
			return machine.Reply{}, nil, errOvertaken
		}
	}
	next, reply := machine.Step(h.record, command, h.at.Time())
	if next == h.record {
		letGo(ctx, conn.Conn())
		return reply, nil, nil
	}
	b := &pgx.Batch{}
	s.queueChange(b, h, digest, next)
	b.Queue("COMMIT")
	if err := runToCommit(ctx, conn.Conn(), b); err != nil {
		if err = sent(err); errors.Is(err, store.ErrIndeterminate) {
			return machine.Reply{}, &doubt{previous: h.record, at: h.at, cause: err}, err
		}
		return machine.Reply{}, nil, err
	}
	s.changed(digest, next, nil)
	return reply, nil, nil
}

// settle finds out whether the command led to the record that is there. Then the reply is the one that
// was lost.
func (d *doubt) settle(command machine.Command, h *held) (*machine.Record, machine.Reply, bool) {
	at := d.at
	if at == 0 && h.record != nil {
		if at = h.record.Claimed; command.Kind() == machine.KindComplete {
			at = h.record.Finished
		}
	}
	if at == 0 {
		at = h.at
	}
	next, reply := machine.Step(d.previous, command, at.Time())
	return next, reply, next != d.previous && same(next, h.record)
}

// same reports whether two records are the same in every field.
func same(a, b *machine.Record) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := pack(a), pack(b)
	return x.answered == y.answered && x.claimedAt == y.claimedAt && x.forgetAt == y.forgetAt &&
		bytes.Equal(x.record, y.record) && bytes.Equal(x.answer, y.answer)
}

// queueChange queues the statements that make a held record the next one; nil: none.
func (s *Store) queueChange(b *pgx.Batch, h *held, digest machine.Digest, next *machine.Record) {
	first, second := head(digest), tail(digest)
	to := row{}
	if next != nil {
		to = pack(next)
	}
	leaves := h.stands && !h.answered && (next == nil || next.State != machine.Claimed && next.State != machine.Executing)
	stays := h.stands && !h.answered && next != nil && !to.answered
	switch {
	case stays:
		b.Queue(s.sql.updateOpen, first, second, to.claimedAt, orNull(to.forgetAt), to.record, to.answer, !leaves)
	case h.stands && h.answered:
		b.Queue(s.sql.deleteAnswered, first, second)
	case h.stands:
		b.Queue(s.sql.deleteOpen, first, second)
	}
	switch {
	case next == nil || stays:
	case to.answered:
		b.Queue(s.sql.insertAnswered, first, second, to.claimedAt, to.forgetAt, to.record, to.answer)
	default:
		b.Queue(s.sql.insertOpen, first, second, to.claimedAt, orNull(to.forgetAt), to.record, to.answer)
	}
	if h.awaited && leaves {
		b.Queue(s.sql.notify, s.address.channel(), digest.String())
	}
}

// orNull writes an instant that may be missing.
func orNull(at machine.Instant) *machine.Instant {
	if at.IsZero() {
		return nil
	}
	return &at
}

// runToCommit runs a batch that ends with COMMIT, in one round trip.
func runToCommit(ctx context.Context, conn *pgx.Conn, b *pgx.Batch) error {
	results := conn.SendBatch(ctx, b)
	moved := false
	for _, q := range b.QueuedQueries {
		tag, err := results.Exec()
		if err != nil {
			results.Close()
			return err
		}
		if q.SQL == "COMMIT" && tag.String() != "COMMIT" {
			moved = true
		}
		if (tag.Update() || tag.Insert() || tag.Delete()) && tag.RowsAffected() != 1 {
			moved = true
		}
	}
	if err := results.Close(); err != nil {
		return err
	}
	if moved {
		return errMoved
	}
	return nil
}

// letGo ends a transaction that has changed nothing. Where that fails, the pool gives the connection up.
func letGo(ctx context.Context, conn *pgx.Conn) {
	if !conn.IsClosed() {
		_, _ = conn.Exec(ctx, "ROLLBACK")
	}
}
