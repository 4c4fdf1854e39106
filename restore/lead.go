package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// lead is the right of a process to manage a session: a lease in SQL, because the target system is what broke. Each
// change that it makes is compared with its token and the epoch in the same statement.
type lead struct {
	*Sessions
	session int64
	token   string
	owner   string
}

// lead makes a process the manager of a session, if it has none. All that others have begun is late from then on, and what
// they have taken may be taken again. ok is false if another one manages it, or it is over.
func (s *Sessions) lead(ctx context.Context, session int64, owner string, lease time.Duration) (l *lead, ok bool, err error) {
	l = &lead{s, session, newToken(), owner}
	err = s.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(s.sql.takeSession, session, owner, l.token, lease.Microseconds())
		if ok = n > 0; err != nil || !ok {
			return err
		}
		if err := tx.Run(s.sql.giveBack, session); err != nil {
			return err
		}
		return tx.Run(s.sql.addEvent, session, EventTaken, owner, "manages the session")
	})
	return l, ok, err
}

// beat renews the lease. [ErrLeaseLost] if another process has taken over, or the session is over.
func (l *lead) beat(ctx context.Context, lease time.Duration) error {
	n, err := l.db.Do(ctx, l.sql.beatSession, l.session, l.token, lease.Microseconds())
	return only(n, err, l.lost())
}

func (l *lead) lost() error {
	return fmt.Errorf("%w: another process manages session %d, or it is over", ErrLeaseLost, l.session)
}

// leave gives the lease back.
func (l *lead) leave(ctx context.Context) error {
	_, err := l.db.Do(ctx, l.sql.leaveSession, l.session, l.token)
	return err
}

// trouble notes what the current step waits for.
func (l *lead) trouble(ctx context.Context, cause error) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(l.sql.troubleSession, l.session, l.token, kept(cause.Error()))
		if err != nil || n == 0 {
			return err
		}
		return tx.Run(l.sql.addEvent, l.session, EventTrouble, l.owner, kept(cause.Error()))
	})
}

// calm notes that the current step waits for nothing any more.
func (l *lead) calm(ctx context.Context) error {
	_, err := l.db.Do(ctx, l.sql.troubleSession, l.session, l.token, "")
	return err
}

// next is where a step leads.
type next struct {
	state        State
	phase, round int
	// raise says that everything that was begun before is late from now on.
	raise bool
}

// step takes the session from the state in which it was read to another one. It does nothing if it is not in that
// state any more, or is another's: that is [ErrLeaseLost].
func (l *lead) step(ctx context.Context, v Session, to next, also ...func(*database.Tx) error) error {
	raise := 0
	if to.raise {
		raise = 1
	}
	return l.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(l.sql.stepSession, v.ID, l.token, v.Epoch, string(v.State), v.Phase, string(to.state), to.phase, to.round, raise)
		if err := only(n, err, l.lost()); err != nil {
			return err
		}
		for _, do := range also {
			if err := do(tx); err != nil {
				return err
			}
		}
		detail := string(to.state)
		if to.state == Applying {
			detail = fmt.Sprintf("%s phase %d of %d", to.state, to.phase+1, v.Phases)
		}
		return tx.Run(l.sql.addEvent, v.ID, EventStep, l.owner, detail)
	})
}

// end ends the session.
func (l *lead) end(ctx context.Context, v Session, state State) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(l.sql.endSession, v.ID, l.token, v.Epoch, string(v.State), string(state))
		if err := only(n, err, l.lost()); err != nil {
			return err
		}
		return tx.Run(l.sql.addEvent, v.ID, EventStep, l.owner, string(state))
	})
}

// generation notes which generation is about to be begun.
func (l *lead) generation(ctx context.Context, v Session, generation string) error {
	n, err := l.db.Do(ctx, l.sql.setGeneration, v.ID, l.token, v.Epoch, generation)
	return only(n, err, l.lost())
}

// lose takes the session back to its beginning, because the target system was lost again.
func (l *lead) lose(ctx context.Context, v Session, found string) error {
	return l.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(l.sql.loseSession, v.ID, l.token, v.Epoch)
		if err := only(n, err, l.lost()); err != nil {
			return err
		}
		return tx.Run(l.sql.addEvent, v.ID, EventLost, l.owner, fmt.Sprintf("the target system has the generation %q, and this session made %q: what was done is void", found, v.Generation))
	})
}

// fenced notes that the target system has confirmed the epoch.
func (l *lead) fenced(ctx context.Context, v Session) error {
	n, err := l.db.Do(ctx, l.sql.fenceSession, v.ID, l.token, v.Epoch)
	return only(n, err, l.lost())
}

// voidAtOnce is how many targets one statement makes void.
const voidAtOnce = 5000

// void makes targets void that were done under another generation, a part at a time, and what was kept there to be undone. A part that is
// done again finds nothing.
func (l *lead) void(ctx context.Context, v Session) error {
	if _, err := l.db.Do(ctx, l.sql.voidFindings, v.ID); err != nil {
		return err
	}
	var first, last int64
	if err := l.db.Look(ctx, func(tx *database.Tx) error { return tx.One(l.sql.targetBounds, []any{v.ID}, &first, &last) }); err != nil {
		return err
	}
	for from := first; from > 0 && from <= last; from += voidAtOnce {
		if _, err := l.db.Do(ctx, l.sql.voidTargets, v.ID, v.Generation, from, from+voidAtOnce-1); err != nil {
			return err
		}
	}
	return nil
}
