package retryclient

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// pace decides whether and when the next try is made.
type pace struct {
	options *Options
	end     time.Time
	backoff backoff.ExponentialBackOff
}

func newPace(o *Options) *pace {
	return &pace{
		options: o,
		end:     time.Now().Add(o.MaxElapsed),
		// Full jitter: a factor of 1 spreads evenly over 0 to twice the interval.
		backoff: backoff.ExponentialBackOff{
			InitialInterval: o.FirstBackoff / 2, MaxInterval: o.MaxBackoff / 2, Multiplier: 2, RandomizationFactor: 1,
		},
	}
}

// next returns how long to pause before another try, or false when there is to be none.
func (p *pace) next(tries int, response *http.Response) (time.Duration, bool) {
	pause := p.backoff.NextBackOff()
	if response != nil {
		pause = max(pause, min(retryAfter(response.Header, time.Now()), p.options.MaxRetryAfter))
	}
	return pause, tries < p.options.MaxTries && !time.Now().Add(pause).After(p.end)
}

// retryAfter reads the header: seconds, or a date, which is taken relative to the server's own clock
// where the server tells it. What cannot be read asks for nothing.
func retryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // else it is the most there is
		return time.Duration(seconds) * time.Second
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if served, err := http.ParseTime(header.Get("Date")); err == nil {
		now = served
	}
	return date.Sub(now)
}

// pauseFor returns when the pause is over, or with the error of a context that ended before.
func pauseFor(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
