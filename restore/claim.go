package restore

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// claim is what a worker has taken: targets of the session's phase that nobody else takes while the lease lives.
type claim struct {
	session Session
	phase   int
	token   string
	targets []claimed
}

// claimed is a target that a worker has taken, for the attempts-th time, and how many attempts it had before. Of a [suspect] it is no attempt to be taken.
type claimed struct {
	Target
	id               int64
	attempts, before int
}

func newToken() string { return rand.Text() }

// claim takes targets of a session. Nothing is taken while there is nothing to do, it is paused, or the target system is not
// known to have the fence. A target has so many attempts until it is a suspect.
func (s *Sessions) claim(ctx context.Context, session int64, worker string, lease time.Duration, attempts int) (c claim, err error) {
	err = s.db.Change(ctx, func(tx *database.Tx) error {
		c = claim{token: newToken()}
		v, found, err := s.read(tx, s.sql.session, session)
		if err != nil || !found {
			return only(0, err, fmt.Errorf("%w with the number %d", ErrNone, session))
		}
		c.session, c.phase = v, v.step()
		if !v.State.worked() || v.Paused || v.Fenced != v.Epoch {
			return nil
		}
		var one claimed
		err = tx.Each(s.sql.claimTargets, []any{session, c.phase, v.Batch}, []any{&one.id, &one.From, &one.To, &one.Units, &one.Priority, &one.attempts}, func() error {
			c.targets = append(c.targets, claimed{one.Target, one.id, max(one.attempts, min(one.attempts+1, suspected(attempts))), one.attempts})
			return nil
		})
		if err != nil || len(c.targets) == 0 {
			return err
		}
		c.targets = alone(c.targets, attempts)
		ids, err := c.ids()
		if err != nil {
			return err
		}
		return tx.Run(s.sql.leaseTargets, ids, worker, c.token, v.Epoch, lease.Microseconds(), suspected(attempts))
	})
	return c, err
}

func (c claim) ids() (string, error) {
	ids := make([]int64, len(c.targets))
	for i, t := range c.targets {
		ids[i] = t.id
	}
	return database.Batch(ids)
}

// renew renews the lease of what is not marked yet. [ErrLeaseLost] if nothing is this claim's any more.
func (s *Sessions) renew(ctx context.Context, c claim, lease time.Duration) error {
	ids, err := c.ids()
	if err != nil {
		return err
	}
	n, err := s.db.Do(ctx, s.sql.renewTargets, ids, c.token, c.session.Epoch, lease.Microseconds())
	return only(n, err, c.lost())
}

func (c claim) lost() error {
	return fmt.Errorf("%w: session %d has another epoch than %d, or others have taken the targets", ErrLeaseLost, c.session.ID, c.session.Epoch)
}

// release gives back what is not marked. That it was taken does not count as an attempt.
func (s *Sessions) release(ctx context.Context, c claim) error {
	forms := make([]markForm, len(c.targets))
	for i, t := range c.targets {
		forms[i] = markForm{ID: t.id, Attempts: t.before}
	}
	text, err := database.Batch(forms)
	if err != nil {
		return err
	}
	_, err = s.db.Do(ctx, s.sql.releaseTargets, text, c.token)
	return err
}

// result is what became of a target.
type result struct {
	claimed
	state    string
	done     Done
	reason   string
	again    time.Duration // how long it is not to be taken
	findings []Finding
	parts    []Target // it is split into these
	born     int      // attempts that the parts have before they are tried
}

// The states of a target.
const (
	pending   = "pending"
	complete  = "done"
	retryable = "retryable"
	failed    = "failed"
)

// markForm is a result in a batch.
type markForm struct {
	ID       int64  `json:"i"`
	State    string `json:"s"`
	Units    int64  `json:"n"`
	Skipped  int64  `json:"k"`
	Reason   string `json:"w"`
	Again    int64  `json:"b"`
	Attempts int    `json:"a"`
	Found    int    `json:"f"`
}

func (r result) form() markForm {
	return markForm{r.id, r.state, r.done.Units, r.done.Skipped, kept(r.reason), r.again.Microseconds(), r.attempts, len(r.findings)}
}

// mark notes what became of the targets of a claim, and gives back those of which nothing is said. It returns how many of them
// were not this claim's any more, of which nothing was noted.
func (s *Sessions) mark(ctx context.Context, c claim, worker string, results []result) (late int, err error) {
	var forms []markForm
	back := 0
	for _, r := range results {
		switch {
		case r.state == pending:
			back++
		case len(r.parts) > 0:
			ok, err := s.split(ctx, c, worker, r)
			if err != nil {
				return late, err
			}
			if !ok {
				late++
			}
		case len(r.findings) > 0:
			ok, err := s.markFound(ctx, c, r)
			if err != nil {
				return late, err
			}
			if !ok {
				late++
			}
		default:
			forms = append(forms, r.form())
		}
	}
	if len(forms) > 0 {
		text, err := database.Batch(forms)
		if err != nil {
			return late, err
		}
		n, err := s.db.Do(ctx, s.sql.markTargets, text, c.token, c.session.Epoch, c.session.Generation)
		if err != nil {
			return late, err
		}
		late += len(forms) - int(n)
	}
	if late > 0 || back > 0 { // of an older epoch, for one
		err = s.release(ctx, c)
	}
	return late, err
}

// markFound marks a target together with its findings.
func (s *Sessions) markFound(ctx context.Context, c claim, r result) (ok bool, err error) {
	mark, err := database.Batch([]markForm{r.form()})
	if err != nil {
		return false, err
	}
	err = s.db.Change(ctx, func(tx *database.Tx) error {
		n, err := tx.Exec(s.sql.markTargets, mark, c.token, c.session.Epoch, c.session.Generation)
		if ok = n > 0; err != nil || !ok {
			return err
		}
		return s.putFound(tx, c.session, r.id, r.findings)
	})
	return ok, err
}

// split puts parts in the place of a target, each to be tried anew.
func (s *Sessions) split(ctx context.Context, c claim, worker string, r result) (ok bool, err error) {
	err = s.db.Change(ctx, func(tx *database.Tx) error {
		ok = false
		var id int64
		if err := tx.One(s.sql.lockTarget, []any{r.id, c.token, c.session.Epoch}, &id); err != nil || id == 0 {
			return err
		}
		ok = true
		if err := tx.Run(s.sql.deleteTarget, id); err != nil {
			return err
		}
		if err := s.put(tx, c.session.ID, c.phase, r.parts, r.born); err != nil {
			return err
		}
		if err := tx.Run(s.sql.growPhase, c.session.ID, c.phase, len(r.parts)-1); err != nil {
			return err
		}
		return tx.Run(s.sql.addEvent, c.session.ID, EventSplit, worker, kept(fmt.Sprintf("from %q to %q into %d: %s", r.From, r.To, len(r.parts), r.reason)))
	})
	return ok, err
}

// unfence has the manager write the fence again, because somebody was refused under the epoch that the target system should have.
func (s *Sessions) unfence(ctx context.Context, v Session) error {
	_, err := s.db.Do(ctx, s.sql.unfenceSession, v.ID, v.Epoch)
	return err
}
