package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// Progress says how far a session is.
type Progress struct {
	Session Session `json:"session"`
	// Phases are those that are listed, verification last.
	Phases []Phase `json:"phases"`
	// Findings are those of the current round of verification, by outcome.
	Findings map[Outcome]int64 `json:"findings"`
	// Rate is how many units a second were done in the last half minute, by all processes.
	Rate float64 `json:"rate"`
	// Left is about how long it takes until verification ends, and Least and Most are the range. Known says that it can
	// be told at all: not while nothing is done, is paused, or is not listed yet.
	Left  time.Duration `json:"left_ns"`
	Least time.Duration `json:"least_ns"`
	Most  time.Duration `json:"most_ns"`
	Known bool          `json:"known"`
}

// Quarantined is how many units could not be restored: one that fails in a phase is tried, and fails, in those after it, so that counts of
// phases are not added.
func (p Progress) Quarantined() (units int64) {
	for _, one := range p.Phases {
		units = max(units, one.UnitsFailed)
	}
	return units
}

// recently is how far back the rate of a session looks.
const recently = 30 * time.Second

// Progress returns how far a session is. It costs a look at all of its targets.
func (s *Sessions) Progress(ctx context.Context, session int64) (p Progress, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		p = Progress{}
		v, found, err := s.read(tx, s.sql.session, session)
		if err != nil || !found {
			return only(0, err, fmt.Errorf("%w with the number %d", ErrNone, session))
		}
		p.Session = v
		if p.Phases, err = s.phases(tx, v, recently); err != nil {
			return err
		}
		p.Findings, err = s.outcomes(tx, v)
		return err
	})
	if err == nil {
		p.estimate()
	}
	return p, err
}

// Status returns how far the last session of the plan is.
func (r *Runner) Status(ctx context.Context) (Progress, error) {
	v, err := r.sessions.Last(ctx, r.plan.Describe().Name)
	if err != nil {
		return Progress{}, err
	}
	return r.sessions.Progress(ctx, v.ID)
}

// estimate says when the session may be through, from two rates: that of the last half minute, and that of the phase from
// its beginning. The range is between them; they differ where the work is uneven.
func (p *Progress) estimate() {
	v := p.Session
	var left, recent int64
	mean := 0.0
	for _, one := range p.Phases {
		left += max(one.Units-one.UnitsDone-one.UnitsSkipped-one.UnitsFailed, 0)
		recent += one.recent
		if one.Number == v.step() && !one.StartedAt.IsZero() {
			mean = perSecond(one.UnitsDone+one.UnitsSkipped, v.Now.Sub(one.StartedAt))
		}
	}
	window := recently
	if age := v.Now.Sub(v.StartedAt); age < window {
		window = age
	}
	p.Rate = perSecond(recent, window)
	fast, slow := max(p.Rate, mean), min(p.Rate, mean)
	if slow == 0 {
		slow = fast
	}
	p.Known = v.State.worked() && !v.Paused && fast > 0
	if p.Known {
		p.Least, p.Most = timeFor(left, fast), timeFor(left, slow)
		p.Left = (p.Least + p.Most) / 2
	}
}

func perSecond(units int64, in time.Duration) float64 {
	if in <= 0 {
		return 0
	}
	return float64(units) / in.Seconds()
}

func timeFor(units int64, rate float64) time.Duration {
	return min(time.Duration(float64(units)/rate*float64(time.Second)), 1000*time.Hour)
}
