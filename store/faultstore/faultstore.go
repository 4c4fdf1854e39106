package faultstore

import (
	"context"
	"sync"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Store is a decorator that breaks what its plan says. Make one with [New].
type Store struct {
	inner store.Store

	mu      sync.Mutex
	plan    Plan
	applied int
	late    sync.WaitGroup
}

// New returns a store over inner that follows plan; nil is [None].
func New(inner store.Store, plan Plan) *Store {
	if plan == nil {
		plan = None
	}
	return &Store{inner: inner, plan: plan}
}

// SetPlan replaces the plan and starts to count from 1 again; nil is [None].
func (s *Store) SetPlan(plan Plan) {
	if plan == nil {
		plan = None
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.applied = plan, 0
}

// Commands returns how many commands the store was given since the plan was set.
func (s *Store) Commands() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.applied
}

// Settle waits until no held command and no late copy is left. Their channels must be closed.
func (s *Store) Settle() { s.late.Wait() }

// Unwrap implements [store.Unwrapper].
func (s *Store) Unwrap() store.Store { return s.inner }

// Close implements [store.Store]. It waits as Settle does, then closes the inner store.
func (s *Store) Close() error {
	s.late.Wait()
	return s.inner.Close()
}

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	fault := s.next(command)
	if fault.before != nil {
		return machine.Reply{}, fault.before
	}
	if fault.hold != nil {
		return s.afterwards(ctx, fault.hold, command)
	}
	reply, err := s.inner.Apply(ctx, command)
	for range fault.copies {
		// A copy answers nobody: said to be unavailable, because its time was over, it would belie what the first did.
		_, _ = s.inner.Apply(ctx, command)
	}
	if fault.late != nil {
		s.late.Go(func() {
			<-fault.late
			// Nor does a late one.
			_, _ = s.inner.Apply(context.WithoutCancel(ctx), command)
		})
	}
	if err == nil && fault.mute != nil {
		err = wait(ctx, fault.mute)
	}
	if err == nil {
		err = fault.after
	}
	if err != nil {
		return machine.Reply{}, err
	}
	return reply, nil
}

// next counts a command and asks the plan about it.
func (s *Store) next(command machine.Command) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applied++
	return s.plan(s.applied, command)
}

// afterwards applies a command when release is closed, whether or not the caller still waits.
func (s *Store) afterwards(ctx context.Context, release <-chan struct{}, command machine.Command) (machine.Reply, error) {
	type result struct {
		reply machine.Reply
		err   error
	}
	done := make(chan result, 1)
	s.late.Go(func() {
		<-release
		reply, err := s.inner.Apply(context.WithoutCancel(ctx), command)
		done <- result{reply, err}
	})
	select {
	case r := <-done:
		return r.reply, r.err
	case <-ctx.Done():
		return machine.Reply{}, store.Indeterminate(context.Cause(ctx))
	}
}

func wait(ctx context.Context, release <-chan struct{}) error {
	select {
	case <-release:
		return nil
	case <-ctx.Done():
		return store.Indeterminate(context.Cause(ctx))
	}
}
