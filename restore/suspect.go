package restore

import (
	"context"
	"fmt"
)

// A target that was taken time and again by workers that said nothing any more may be what kills them; so may what they had beside it. Such a
// target is a suspect. It is taken alone, and while it is applied its process applies nothing else; that it is tried is noted before, and what became of it
// before anything else is. So whoever dies then died of it, or for a reason of his own, and after as many such ends as another target has
// attempts it is quarantined: its neighbours are not, because they come through their trial.

// suspect reports whether a target is one, after so many attempts of which nothing was said. Those that count are as many as any target has.
func (c claimed) suspect(attempts int) bool { return c.attempts > attempts }

// ends is how often whoever tried a suspect alone said nothing any more.
func (c claimed) ends(attempts int) int { return max(0, c.attempts-suspected(attempts)) }

// suspected is the number of attempts of a suspect that was not tried alone yet: being taken counts up to there.
func suspected(attempts int) int { return attempts + 1 }

// alone is what a worker takes of targets that may be taken: one suspect, or none.
func alone(all []claimed, attempts int) []claimed {
	for i, t := range all {
		if t.suspect(attempts) {
			return all[:max(i, 1)]
		}
	}
	return all
}

// deadly says why a suspect is not tried any more. A range of units is cut as soon as it has ended one process; it takes more to quarantine a
// unit.
func (w *worker) deadly(t claimed) error {
	ends := t.ends(w.options.Attempts)
	if ends == 0 || t.Units == 1 && ends < w.options.Attempts {
		return nil
	}
	return fmt.Errorf("%w: whoever took it, %d times, did not say what became of it, and the last %d times it was the only one that was tried: it may be what ends them", ErrBadUnit, w.options.Attempts+ends, ends)
}

// try tries a suspect while this process applies nothing else, and marks it.
func (w *worker) try(ctx context.Context, b *batch, t claimed) {
	w.trial.Lock()
	defer w.trial.Unlock()
	err := w.deadly(t)
	if err == nil {
		err = w.sessions.try(b.ctx, b.claim, t)
	}
	var done Done
	var found []Finding
	if err == nil {
		done, found, err = w.one(b, t)
	}
	b.results = []result{w.judge(b, t, done, found, err)}
	w.mark(ctx, b)
}

// try notes that a suspect is tried now. [ErrLeaseLost] if it is somebody else's by now.
func (s *Sessions) try(ctx context.Context, c claim, t claimed) error {
	n, err := s.db.Do(ctx, s.sql.tryTarget, t.id, c.token, c.session.Epoch, t.attempts+1)
	return only(n, err, c.lost())
}
