package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/store"
)

// Options are how a process works on sessions. The zero value is right for most uses.
type Options struct {
	// Name is the process, for people: a host and a number, say. Program is what it is a process of, with its version.
	Name, Program string
	// Workers is how many batches it applies at the same time; 0 is 2.
	Workers int
	// Lease is how long a process that does not renew is waited for, as manager and as worker; 0 is 30 s.
	Lease time.Duration
	// Poll is how long it waits at most before it looks again whether there is something to do; 0 is 250 ms.
	Poll time.Duration
	// Attempts is how often a target is tried before it is split, and one of a single unit before it is quarantined; 0 is 4.
	Attempts int
	// Backoff is how long a target waits after its first failed attempt; each further one doubles it, up to 10 s. 0 is 100 ms.
	Backoff time.Duration
	// Rounds is how often everything is verified, with corrections between, before a person has to look; 0 is 3.
	Rounds int
	// ListAtOnce is how many targets are listed at once; 0 is 1000.
	ListAtOnce int
	Log        *slog.Logger
}

func (o Options) withDefaults() Options {
	first := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	count := func(n *int, otherwise int) {
		if *n <= 0 {
			*n = otherwise
		}
	}
	first(&o.Lease, 30*time.Second)
	first(&o.Poll, 250*time.Millisecond)
	first(&o.Backoff, 100*time.Millisecond)
	count(&o.Workers, 2)
	count(&o.Attempts, 4)
	count(&o.Rounds, 3)
	count(&o.ListAtOnce, 1000)
	if o.Name == "" {
		o.Name = "a process without a name"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Runner restores by a plan. Any number of processes may do so at once: whatever is to be done once at a time is done by the
// one that has the session's lease, and all take targets. Make one with [New].
type Runner struct {
	sessions *Sessions
	plan     Plan
	options  Options
	// What a worker of this process has done may be the last that its manager waits for, and the other way round.
	done, moved bell
	trial       sync.RWMutex // held by whoever applies a target, and by who tries a suspect alone
}

// New returns a runner. The caller keeps the sessions open for as long as it is used.
func New(sessions *Sessions, plan Plan, options Options) *Runner {
	return &Runner{sessions: sessions, plan: plan, options: options.withDefaults()}
}

// Start begins a session. A live one that no process manages is returned instead, resumed, if it is of the same
// configuration and for the same failure; nothing of it is done again. Otherwise the error is one of
//
//   - [ErrRunning]: another process manages one
//   - [ErrOtherPlan]: a live one has another configuration, or is for another failure
//   - [ErrComplete]: the last one has restored everything, and nothing is known to be lost since. Nothing was done
//   - [ErrFailureTime]: the time of the failure cannot be, or is too long ago
//   - [ErrRequest]: the request makes no sense
//   - [ErrOtherSystem], or another error of the plan's Ready
//
// Start does no more than that: [Runner.Work] does what is to be done.
func (r *Runner) Start(ctx context.Context, request Request) (v Session, resumed bool, err error) {
	if err := request.check(); err != nil {
		return v, false, err
	}
	if err := r.plan.Ready(ctx); err != nil {
		return v, false, err
	}
	d := r.plan.Describe()
	return r.sessions.begin(ctx, d, r.options.Program, request, func(last Session) (bool, error) {
		generation, err := r.plan.Generation(ctx)
		if err != nil {
			return false, fmt.Errorf("ask whether what session %d has restored is still there: %w; to restore in any case, ask for it again (reprise restore start --again)", last.ID, err)
		}
		return generation != "" && generation == last.Generation, nil
	})
}

// Work works on the live session of the plan until it is over, and returns it as it then is. It can be ended at any time and by
// anything; another call, in any process, goes on. While the SQL server or the target system cannot be asked, or the session is
// paused, it waits. An error of the plan that says something else than that ends it, and leaves the session where it is; so does what its Ready
// says.
func (r *Runner) Work(ctx context.Context) (Session, error) {
	v, err := r.live(ctx)
	for passing(err) && ctx.Err() == nil {
		r.options.Log.Warn("the restore waits", "error", err)
		r.wait(ctx, r.options.Poll)
		v, err = r.live(ctx)
	}
	if err != nil {
		return v, err
	}
	if err := r.plan.Ready(ctx); err != nil {
		return v, err
	}
	group, inner := errgroup.WithContext(ctx)
	inner, stop := context.WithCancelCause(inner)
	defer stop(nil)
	group.Go(func() error {
		defer stop(errOver) // the workers have nothing to do any more
		return r.manage(inner, v.ID)
	})
	for range r.options.Workers {
		group.Go(func() error { return r.worker(v.ID).run(inner) })
	}
	if err := group.Wait(); err != nil {
		return v, err
	}
	if err := store.NotSent(ctx); err != nil {
		return v, err
	}
	return r.sessions.Session(ctx, v.ID)
}

// errOver is why workers end when the session does.
var errOver = errors.New("the session is over")

// live returns the live session of the plan, which has to be of its configuration.
func (r *Runner) live(ctx context.Context) (v Session, err error) {
	d := r.plan.Describe()
	v, err = r.sessions.Last(ctx, d.Name)
	switch {
	case err != nil:
		return v, err
	case v.State.Over():
		return v, fmt.Errorf("%w: session %d of plan %q is %s: begin another one if something was lost", ErrOver, v.ID, v.Plan, v.State)
	case v.Digest != d.Digest || v.Phases != len(d.Phases):
		return v, otherPlan(v, d)
	}
	return v, nil
}

// named returns the plan's session with an id, or for 0 its last one. What changes it does so by its id, and only while it is live: another
// one that was begun meanwhile is left alone.
func (r *Runner) named(ctx context.Context, id int64) (v Session, err error) {
	plan := r.plan.Describe().Name
	if id == 0 {
		return r.sessions.Last(ctx, plan)
	}
	v, err = r.sessions.Session(ctx, id)
	if err == nil && v.Plan != plan {
		err = fmt.Errorf("%w of plan %q with the number %d", ErrNone, plan, id)
	}
	return v, err
}

// Pause keeps a live session from going on. What workers have taken they finish. An id of 0 is the last session, here and below.
func (r *Runner) Pause(ctx context.Context, id int64, who, why string) error {
	v, err := r.named(ctx, id)
	if err != nil {
		return err
	}
	return r.sessions.Pause(ctx, v.ID, who, why)
}

// Ready says why nobody may go on with it from here, as the plan's Ready does: for a process that lets a session go on and works on it
// itself. Pausing and resuming need SQL alone.
func (r *Runner) Ready(ctx context.Context) error { return r.plan.Ready(ctx) }

// Resume lets it go on.
func (r *Runner) Resume(ctx context.Context, id int64, who, why string) error {
	v, err := r.named(ctx, id)
	if err != nil {
		return err
	}
	return r.sessions.Resume(ctx, v.ID, who, why)
}

// Pace changes how fast it goes: how many units a second each worker does at most, 0 for no limit, and how many targets a worker takes at
// once, 0 for as many as before. Workers learn of it with the next targets that they take.
func (r *Runner) Pace(ctx context.Context, id, rate int64, batch int, who string) error {
	v, err := r.named(ctx, id)
	if err != nil {
		return err
	}
	return r.sessions.Pace(ctx, v.ID, rate, cmp.Or(batch, v.Batch), who)
}

// Cancel ends a live session without completing it. The gate stays closed, and another session can be begun. It returns when late
// writes are shut out, if the target system can be asked; a call that ended before may be repeated.
func (r *Runner) Cancel(ctx context.Context, id int64, who, why string) error {
	v, err := r.named(ctx, id)
	if err != nil {
		return err
	}
	if v.State != Cancelling {
		if err := r.sessions.cancel(ctx, v.ID, who, why); err != nil {
			return err
		}
	}
	if err := r.manage(ctx, v.ID); err != nil { // until it is over: by this process, if no other one manages it
		return err
	}
	return store.NotSent(ctx)
}

// wait waits until it is time to look again. It returns false when the context has ended.
func (r *Runner) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// passing reports whether an error is of a system that may be well again, and says nothing of what was asked for.
func passing(err error) bool {
	return (errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate)) && !errors.Is(err, ErrRefused)
}
