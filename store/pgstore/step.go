package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// beginSQL is the isolation that everything under a key's lock relies on: each statement sees what was
// committed before it.
const beginSQL = "BEGIN ISOLATION LEVEL READ COMMITTED"

// step loads a record under its lock, decides and writes. A key that is held is asked for again until the
// context ends, which is certain not to have changed anything; but a claim on a key that an effect holds is
// told so. With a doubt it first finds out whether the
// command was committed before, and answers as if the reply had not been lost.
func (s *Store) step(ctx context.Context, command machine.Command, d *form.Doubt) (machine.Reply, error) {
	leave, err := s.turns.Take(ctx, command.Target().Digest)
	if err != nil {
		return machine.Reply{}, d.Or(store.Unavailable(errors.Join(err, errBusy)))
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
// reply.
func (s *Store) stepOnce(ctx context.Context, command machine.Command, d *form.Doubt) (machine.Reply, *form.Doubt, error) {
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
		next, reply, ok := d.Settle(command, h.record, h.at)
		switch {
		case ok:
			s.changed(digest, next, nil)
			letGo(ctx, conn.Conn())
			return reply, nil, nil
		case !form.Same(d.Previous, h.record):
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
			return machine.Reply{}, &form.Doubt{Previous: h.record, At: h.at, Cause: err}, err
		}
		return machine.Reply{}, nil, err
	}
	s.changed(digest, next, nil)
	return reply, nil, nil
}

// queueChange queues the statements that make a held record the next one; nil: none.
func (s *Store) queueChange(b *pgx.Batch, h *held, digest machine.Digest, next *machine.Record) {
	first, second := head(digest), tail(digest)
	to := form.Row{}
	if next != nil {
		to = form.Pack(next)
	}
	leaves := h.stands && !h.answered && (next == nil || next.State != machine.Claimed && next.State != machine.Executing)
	stays := h.stands && !h.answered && next != nil && !to.Answered
	switch {
	case stays:
		b.Queue(s.sql.updateOpen, first, second, to.ClaimedAt, orNull(to.ForgetAt), to.Record, to.Answer, !leaves)
	case h.stands && h.answered:
		b.Queue(s.sql.deleteAnswered, first, second)
	case h.stands:
		b.Queue(s.sql.deleteOpen, first, second)
	}
	switch {
	case next == nil || stays:
	case to.Answered:
		b.Queue(s.sql.insertAnswered, first, second, to.ClaimedAt, to.ForgetAt, to.Record, to.Answer)
	default:
		b.Queue(s.sql.insertOpen, first, second, to.ClaimedAt, orNull(to.ForgetAt), to.Record, to.Answer)
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
