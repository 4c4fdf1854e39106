package faulttest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
)

// front is the wire of every store: its own methods. Each call is an I/O.
type front struct {
	*faultstore.Store // breaks commands as the plan says
	*Plan
	late sync.WaitGroup
}

var errLost = errors.New("lost by a test")

func newFront(inner store.Store) *front {
	f := &front{Plan: NewPlan(
		[]Fault{Refused, RequestLost, ReplyLost, Twice, Copied, Held, Died, DiedAfter},
		[]Fault{Refused, RequestLost, ReplyLost},
	)}
	f.Store = faultstore.New(inner, func(int, machine.Command) faultstore.Fault {
		switch fault, release := f.Next(); fault {
		case Refused:
			return faultstore.Refused()
		case RequestLost, Died:
			return faultstore.Unsent()
		case ReplyLost, DiedAfter:
			return faultstore.ReplyLost()
		case Twice:
			return faultstore.Twice()
		case Copied:
			return faultstore.CopiedLate(release)
		case Held:
			return faultstore.HeldUntil(release)
		}
		return faultstore.Fault{}
	})
	return f
}

// Break implements [Wire].
func (f *front) Break(n int, fault Fault) {
	f.Release()
	f.Plan.Break(n, fault)
}

// Release implements [Wire].
func (f *front) Release() {
	f.Plan.Release()
	f.Settle()
	f.late.Wait()
}

// errand does something beside the commands, unless a fault has its way with it. A copy of it would be
// one more errand, so those faults let it be.
func errand[R any, I any](f *front, ctx context.Context, work func(ctx context.Context, inner I) (R, error)) (R, error) {
	var none R
	inner, ok := store.As[I](f.Unwrap())
	if !ok {
		return none, store.ErrUnsupported
	}
	fault, release := f.Next()
	switch fault {
	case Refused:
		return none, store.Unavailable(errLost)
	case RequestLost, Died:
		return none, store.Indeterminate(errLost)
	case Held:
		done := make(chan struct{})
		var result R
		var err error
		f.late.Go(func() {
			defer close(done)
			<-release
			result, err = work(context.WithoutCancel(ctx), inner)
		})
		select {
		case <-done:
			return result, err
		case <-ctx.Done():
			return none, store.Indeterminate(context.Cause(ctx))
		}
	}
	result, err := work(ctx, inner)
	if err == nil && (fault == ReplyLost || fault == DiedAfter) {
		return none, store.Indeterminate(errLost)
	}
	return result, err
}

type nothing struct{}

// List implements [store.Lister].
func (f *front) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	return errand(f, ctx, func(ctx context.Context, inner store.Lister) (store.Page, error) {
		return inner.List(ctx, filter, cursor, limit)
	})
}

// Count implements [store.Counter].
func (f *front) Count(ctx context.Context) (store.Counts, error) {
	return errand(f, ctx, func(ctx context.Context, inner store.Counter) (store.Counts, error) { return inner.Count(ctx) })
}

// Purge implements [store.Purger].
func (f *front) Purge(ctx context.Context, limit int) (int, error) {
	return errand(f, ctx, func(ctx context.Context, inner store.Purger) (int, error) { return inner.Purge(ctx, limit) })
}

type secrets struct {
	known []store.Secret
	at    machine.Instant
}

// Secrets implements [store.SecretKeeper].
func (f *front) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	s, err := errand(f, ctx, func(ctx context.Context, inner store.SecretKeeper) (s secrets, err error) {
		s.known, s.at, err = inner.Secrets(ctx)
		return s, err
	})
	return s.known, s.at, err
}

// AddSecret implements [store.SecretKeeper].
func (f *front) AddSecret(ctx context.Context, secret store.Secret, ahead time.Duration) error {
	_, err := errand(f, ctx, func(ctx context.Context, inner store.SecretKeeper) (nothing, error) {
		return nothing{}, inner.AddSecret(ctx, secret, ahead)
	})
	return err
}

// RetireSecret implements [store.SecretKeeper].
func (f *front) RetireSecret(ctx context.Context, version uint32) error {
	_, err := errand(f, ctx, func(ctx context.Context, inner store.SecretKeeper) (nothing, error) {
		return nothing{}, inner.RetireSecret(ctx, version)
	})
	return err
}
