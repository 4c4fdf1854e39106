package proxy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
)

// selfTestOperation is the name under which the self-test is recorded, for a short time.
const selfTestOperation = "reprise self-test"

// selfTest runs an operation twice with one key and sees that the second is answered by the first. A
// store or a secret with which that fails would guard nothing, and nobody would notice.
func selfTest(ctx context.Context, s store.Store, routes []Route) error {
	for _, route := range routes {
		if route.Unguarded {
			continue
		}
		policy := route.Policy
		policy.ReplayWindow, policy.Remember, policy.RetryableFor, policy.RetryHorizon = time.Minute, time.Minute, time.Minute, 0
		guard, err := reprise.New(s, policy)
		if err != nil {
			return err
		}
		if err := errors.Join(replays(ctx, guard), closeSoon(ctx, guard)); err != nil {
			return fmt.Errorf("self-test: %w", err)
		}
		return nil // the routes share store and secret
	}
	return nil
}

// selfTestEnd is how long a recording of the self-test that was not confirmed may go on. Nobody waits for it.
const selfTestEnd = time.Second

func closeSoon(ctx context.Context, guard *reprise.Guard) error {
	ctx, cancel := context.WithTimeout(ctx, selfTestEnd)
	defer cancel()
	return guard.Close(ctx)
}

func replays(ctx context.Context, guard *reprise.Guard) error {
	call := reprise.Call{Operation: selfTestOperation, Principal: reprise.Everyone, Key: rand.Text()}
	runs := 0
	var last reprise.Outcome
	for range 2 {
		var err error
		last, err = guard.Do(ctx, call, func(context.Context, *reprise.Run) (reprise.Response, error) {
			runs++
			return reprise.Response{}, nil
		})
		if err != nil {
			return err
		}
		if last.Ran && !last.Recorded {
			return errors.New("the store takes the beginning of an operation, and not what came of it; what it says is in the log: it may lack a right")
		}
	}
	if runs != 1 || !last.Replayed {
		return fmt.Errorf("an operation with one key ran %d times; the store does not find what it recorded", runs)
	}
	return nil
}
