package pgstore

import (
	"context"
	"errors"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A key that is held by an effect's transaction has no record of it that anybody could see: that is
// committed with the effect. But an effect holds two locks (query/lock_effect.sql), and everybody else one.
// So who finds a key held can tell whether an action is under way on it, which may take long, or a
// command, which does not. A claim is then told what is true: that the key is in progress.

// askAgain is for how long a claim is told that an effect's key is in progress: nobody knows its end.
const askAgain = time.Second

// underWay returns the reply to a claim on a key that is held, if it is by an effect. It has no revision,
// because there is no record.
func (s *Store) underWay(ctx context.Context, digest machine.Digest) (reply machine.Reply, ok bool, err error) {
	conn, release, err := s.acquire(ctx, s.steps)
	if err != nil {
		return reply, false, err
	}
	defer release()
	high, low := effectLockForm(&digest)
	err = s.ask(ctx, conn.Conn(), request{s.sql.underWay, [][]byte{high, low}, func(columns [][]byte) error {
		if len(columns) != 2 {
			return errColumns
		}
		at := readTimestamp(columns[1])
		ok = readBool(columns[0])
		reply = machine.Reply{Outcome: machine.InProgress, State: machine.Executing, At: at, LeaseEnd: at.Add(askAgain)}
		return nil
	}})
	return reply, ok, unsent(ctx, err)
}

// stepHeld is step for a claim on a key that seems to be held: there is no record, and none could be made.
func (s *Store) stepHeld(ctx context.Context, command machine.Command) (machine.Reply, error) {
	leave, err := s.turns.Take(ctx, command.Target().Digest)
	if err != nil {
		return machine.Reply{}, store.Unavailable(errors.Join(err, errBusy))
	}
	reply, ok, err := s.underWay(ctx, command.Target().Digest)
	leave()
	if ok || err != nil {
		return reply, err
	}
	return s.step(ctx, command, nil)
}

// claims reports whether a command is one that an effect in progress answers.
func claims(command machine.Command) bool {
	return command.Kind() == machine.KindClaim || command.Kind() == machine.KindBegin
}
