package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// stoppable is something that serves until it is stopped.
type stoppable interface {
	stop(why string, signals <-chan os.Signal) error
}

// startUnlessStopped starts something that serves. A signal to stop ends that, also where a database does not answer; there is
// nothing then. What had started all the same is stopped in order, which is no error. old says that there was a signal to reload: what
// was read for the start may be another by now.
func startUnlessStopped[S stoppable](life context.Context, signals <-chan os.Signal, start func(context.Context) (S, error)) (s S, old bool, err error) {
	var none S
	ctx, cancel := context.WithCancelCause(life)
	defer cancel(nil)
	started := make(chan struct{})
	go func() {
		defer close(started)
		s, err = start(ctx)
	}()
	for {
		select {
		case <-started:
			if err == nil && ctx.Err() != nil {
				return none, false, s.stop("a signal while it started", signals)
			}
			return s, old, err
		case sig := <-signals:
			if sig == syscall.SIGHUP {
				old = true // there is nothing yet that could be reloaded
				continue
			}
			cancel(fmt.Errorf("stopped by %v before it had started", sig))
		}
	}
}
