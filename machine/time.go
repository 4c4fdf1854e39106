package machine

import "time"

// Instant is a point in time on a store's clock, in microseconds since 1970-01-01 UTC. It is the
// only unit in which this package compares times, so that what one store writes in seconds is never
// read in milliseconds by another. Zero means "not set".
type Instant int64

// InstantOf converts t, dropping what is finer than a microsecond.
func InstantOf(t time.Time) Instant { return Instant(t.UnixMicro()) }

// Time converts back, in UTC.
func (i Instant) Time() time.Time { return time.UnixMicro(int64(i)).UTC() }

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d/time.Microsecond) }

// Sub returns how long i is after other; negative when it is before.
func (i Instant) Sub(other Instant) time.Duration {
	return time.Duration(i-other) * time.Microsecond
}

// IsZero reports whether the instant is not set.
func (i Instant) IsZero() bool { return i == 0 }

// String formats the instant as RFC 3339 with microseconds, or "-" when it is not set.
func (i Instant) String() string {
	if i == 0 {
		return "-"
	}
	return i.Time().Format("2006-01-02T15:04:05.000000Z")
}

// forgottenAfterLease is how long a record that was claimed and never started stays after its lease
// ended. Nothing happened under it, so nothing is lost when it goes.
const forgottenAfterLease = 7 * 24 * time.Hour
