package restore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// A worker does as many units a second as it may, whatever the size of its targets, and does not catch up on a pause.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pace
		took := func(rate, units int64, times int) time.Duration {
			begin := time.Now()
			for range times {
				if err := p.wait(t.Context(), rate, units); err != nil {
					t.Fatal(err)
				}
			}
			return time.Since(begin)
		}
		if d := took(1000, 200, 11); d != 2*time.Second {
			t.Errorf("2000 units and one target more at 1000 a second took %v", d)
		}
		if d := took(1, 200, 1); d != 200*time.Second {
			t.Errorf("200 units before, at one a second, took %v", d)
		}
		if d := took(2000, 200, 2); d != 200*time.Millisecond {
			t.Errorf("at a rate that was made higher it took %v", d)
		}
		if d := took(0, 200, 100); d != 0 {
			t.Errorf("without a limit it took %v", d)
		}
		timer := time.NewTimer(time.Hour)
		<-timer.C
		if d := took(100, 100, 3); d != 2*time.Second {
			t.Errorf("after a pause it took %v", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.wait(ctx, 1, 1); err == nil {
			t.Error("it waits although the context has ended")
		}
	})
}

// A lease that is not confirmed in time is lost, counted from before the renewal was sent; one renewal that fails is no loss.
func TestKeep(t *testing.T) {
	t.Parallel()
	unavailable := store.Unavailable(errors.New("reset"))
	for name, c := range map[string]struct {
		renew func(n int) error
		after time.Duration // 0: it is never lost
	}{
		"confirmed":       {func(int) error { return nil }, 0},
		"fails sometimes": {func(n int) error { return map[bool]error{true: unavailable}[n%2 == 1] }, 0},
		"refused":         {func(n int) error { return map[bool]error{true: ErrLeaseLost}[n == 4] }, 40 * time.Second},
		"cut off":         {func(n int) error { return map[bool]error{true: unavailable}[n > 3] }, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := New(nil, nil, Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				n, begin := 0, time.Now()
				err := r.keep(ctx, 30*time.Second, func(context.Context) error {
					n++
					return c.renew(n)
				})
				took := time.Since(begin)
				if c.after == 0 && (err != nil || took != time.Hour) || c.after > 0 && (!errors.Is(err, ErrLeaseLost) || took > c.after) {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}
