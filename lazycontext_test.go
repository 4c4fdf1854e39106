package reprise

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type contextKey struct{}

// TestLazyContextIsAContext compares it with the standard library's, asked early, late, or never to wait.
func TestLazyContextIsAContext(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"opened at once": true, "opened late": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lazy := func(parent context.Context, timeout time.Duration) *lazyContext {
					l := &lazyContext{Context: parent}
					if timeout != 0 {
						l.deadline = time.Now().Add(timeout)
					}
					if open {
						l.Done()
					}
					return l
				}
				over := func(l *lazyContext, want error) {
					t.Helper()
					if err := l.Err(); !errors.Is(err, want) {
						t.Errorf("Err is %v, want %v", err, want)
					}
					<-l.Done() // a context that is over and never done would hang here
					if err := l.Err(); !errors.Is(err, want) {
						t.Errorf("Err is %v after Done, want %v", err, want)
					}
				}
				parent, cancelParent := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "value"))
				defer cancelParent()

				timed := lazy(parent, time.Second)
				if d, ok := timed.Deadline(); !ok || time.Until(d) != time.Second || timed.Err() != nil || timed.Value(contextKey{}) != "value" {
					t.Errorf("deadline %v %v, error %v", d, ok, timed.Err())
				}
				<-time.After(time.Second + time.Nanosecond)
				over(timed, context.DeadlineExceeded)

				ended := lazy(parent, 0)
				if _, ok := ended.Deadline(); ok {
					t.Error("a deadline out of nowhere")
				}
				ended.end()
				over(ended, context.Canceled)

				cause := errors.New("cause")
				cancelled := lazy(parent, 0)
				cancelled.cancel(cause)
				over(cancelled, context.Canceled)
				if got := context.Cause(cancelled); !errors.Is(got, cause) {
					t.Errorf("cause %v", got)
				}

				child, cancelChild := context.WithCancel(lazy(parent, 0))
				defer cancelChild()
				inherited := lazy(parent, time.Hour)
				cancelParent()
				over(inherited, context.Canceled)
				<-child.Done()
			})
		})
	}
}
