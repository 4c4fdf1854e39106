package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

// stub is one that may be stopped.
type stub struct{ stopped string }

func (s *stub) stop(why string, _ <-chan os.Signal) error {
	s.stopped = why
	return nil
}

// Who wants a process to end does not wait for a database that hangs.
func TestAStartEndsAtASignal(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	hangs := func(ctx context.Context) (*stub, error) {
		signals <- syscall.SIGTERM
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	if s, _, err := startUnlessStopped(t.Context(), signals, hangs); s != nil || err == nil || !strings.Contains(err.Error(), "before it had started") {
		t.Errorf("%v, %v", s, err)
	}
	late := &stub{}
	starts := func(ctx context.Context) (*stub, error) {
		signals <- syscall.SIGTERM
		<-ctx.Done()
		return late, nil
	}
	if s, _, err := startUnlessStopped(t.Context(), signals, starts); s != nil || err != nil || late.stopped == "" {
		t.Errorf("%v, %v, stopped because of %q", s, err, late.stopped)
	}
	failure := errors.New("no such host")
	if _, _, err := startUnlessStopped(t.Context(), signals, func(context.Context) (*stub, error) { return nil, failure }); !errors.Is(err, failure) {
		t.Error(err)
	}
}
