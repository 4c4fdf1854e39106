package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A key that is held by an effect's transaction has no record of it that is committed. But there is a row, and
// who asks for what is not committed sees in it that it is an effect that holds the key, which may take long,
// and not a command, which does not: the column effect is not 0, and is another than what is committed, or the
// record is. A claim is then told what is true: that the key is in progress.

// askAgain is for how long a claim is told that an effect's key is in progress: nobody knows its end.
const askAgain = time.Second

// underWay returns the reply to a claim on a key that is held, if it is by an effect. It has no revision,
// because there is no record.
func (s *Store) underWay(ctx context.Context, digest machine.Digest) (reply machine.Reply, ok bool, err error) {
	err = s.within(ctx, s.steps, func(c *conn) error {
		var written, stands mark
		err := s.dirtily(ctx, c, s.sql.underWay.with(digest)+s.sql.stands.with(digest), func(set int, columns []driver.Value) error {
			if set == 1 {
				stands = readMark(columns)
				return nil
			}
			at := readInstant(columns[0])
			written = readMark(columns[1:])
			reply = machine.Reply{Outcome: machine.InProgress, State: machine.Executing, At: at, LeaseEnd: at.Add(askAgain)}
			return nil
		})
		ok = written.effect != 0 && written != stands
		return err
	})
	return reply, ok, unsent(ctx, err)
}

// dirtily runs statements of which the first sees what is not committed. If that fails, the next one on the connection might be the first.
func (s *Store) dirtily(ctx context.Context, c *conn, statements string, row func(set int, columns []driver.Value) error) error {
	err := c.query(ctx, s.sql.dirty.with()+statements, nil, row)
	if err != nil {
		s.letGo(ctx, c)
	}
	return err
}

// mark is what tells the row of an effect.
type mark struct {
	effect int64
	record string
}

func readMark(columns []driver.Value) mark {
	return mark{readInt(columns[0]), string(readBytes(columns[1]))}
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

// heldKeys are keys that stood in the way of a group a moment ago.
type heldKeys struct {
	mu    sync.Mutex
	until map[machine.Digest]time.Time
}

// heldLimit is how many are remembered.
const heldLimit = 4096

func (h *heldKeys) put(digest machine.Digest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until == nil || len(h.until) >= heldLimit {
		h.until = map[machine.Digest]time.Time{}
	}
	h.until[digest] = time.Now().Add(askAgain)
}

func (h *heldKeys) has(digest machine.Digest) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until[digest]
	if ok && time.Now().After(until) {
		delete(h.until, digest)
		ok = false
	}
	return ok
}
