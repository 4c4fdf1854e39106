package store

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Filter chooses records. Zero fields do not restrict.
type Filter struct {
	// States are judged states: an interrupted execution is found under Abandoned.
	States []machine.State
	// Operation is an operation's name, compared exactly.
	Operation string
	// SecretVersion restricts to records made under one version of the secret.
	SecretVersion uint32
	// LeaseEndedBefore restricts to records whose lease ended before an instant.
	LeaseEndedBefore machine.Instant
}

// Match reports whether a record fits at an instant. Forgotten records fit nothing.
func (f Filter) Match(r *machine.Record, at machine.Instant) bool {
	state, _ := r.Judge(at)
	if state == machine.Absent {
		return false
	}
	if len(f.States) > 0 {
		fits := false
		for _, s := range f.States {
			fits = fits || s == state
		}
		if !fits {
			return false
		}
	}
	return (f.Operation == "" || f.Operation == r.Scope.Operation) &&
		(f.SecretVersion == 0 || f.SecretVersion == r.Scope.SecretVersion) &&
		(f.LeaseEndedBefore == 0 || r.LeaseEnd < f.LeaseEndedBefore)
}

// Page is a part of a listing.
type Page struct {
	// Records are those that fit. They are shared: do not change them.
	Records []*machine.Record
	// Unreadable are the digests of records that are there and cannot be read.
	Unreadable []machine.Digest
	// Next is the cursor of the next page, empty after the last. It is opaque and stays valid while
	// records come and go: none that is there all the time is left out, none is listed twice.
	Next string
	// At is the store's time at which the states were judged.
	At machine.Instant
	// Partial marks a listing that does not look at every record; then ScannedAt says how old it is.
	Partial   bool
	ScannedAt machine.Instant
}

// Lister lists records in a fixed order. limit is between 1 and 1000, and one below it is [ErrLimit]; a page may hold fewer records
// and still have a next one.
type Lister interface {
	List(ctx context.Context, filter Filter, cursor string, limit int) (Page, error)
}

// DigestCursor reads the cursor of a listing in the order of digests: that of the last record before the page. An empty one is the
// lowest digest, which no record has. The error is [ErrCursor].
func DigestCursor(cursor string) (machine.Digest, error) {
	if cursor == "" {
		return machine.Digest{}, nil
	}
	digest, err := machine.ParseDigest(cursor)
	if err != nil {
		return digest, BadCursor(cursor)
	}
	return digest, nil
}

// BadCursor is the [ErrCursor] of a cursor.
func BadCursor(cursor string) error {
	return fmt.Errorf("%w: %q: list again from the beginning", ErrCursor, cursor)
}

// PageLimit returns the [ErrLimit] of a listing, or nil.
func PageLimit(limit int) error { return atLeast(1, limit) }

// PurgeLimit returns the [ErrLimit] of a purge, or nil.
func PurgeLimit(limit int) error { return atLeast(0, limit) }

func atLeast(least, limit int) error {
	if limit < least {
		return fmt.Errorf("%w: %d: at least %d is expected", ErrLimit, limit, least)
	}
	return nil
}

// Counts are numbers of records by judged state.
type Counts struct {
	States map[machine.State]int64
	// Due is the number of records that count as absent and can be purged.
	Due int64
	// At is when they were counted. Sampled marks an estimate.
	At      machine.Instant
	Sampled bool
}

// Counter counts records.
type Counter interface {
	Count(ctx context.Context) (Counts, error)
}

// Purger deletes what counts as absent.
type Purger interface {
	// Purge deletes at most limit records and returns how many it deleted. Fewer than limit means
	// that no more are due. It never deletes what is unfinished, and never blocks commands for long. A limit below 0
	// is [ErrLimit].
	Purge(ctx context.Context, limit int) (int, error)
}

// Watcher wakes who waits for a record to change.
type Watcher interface {
	// Watch returns a channel that is closed once the record may have changed from the revision, and
	// a function that ends the watch. It may wake for nothing, and it may miss a change: callers ask
	// again after a time of their own.
	Watch(scope machine.Scope, revision uint64) (changed <-chan struct{}, stop func())
}

// Secret is what a store knows about a version of the secret: never the secret itself.
type Secret struct {
	Version uint32
	// Check is a digest by which a wrong secret of the same version is told apart.
	Check machine.Digest
	// PrimaryFrom is when new records are made under it, on the store's clock; zero for the first.
	PrimaryFrom machine.Instant
	// Retired is when no record was left under it and it was given up; zero while it lives.
	Retired machine.Instant
}

// SecretKeeper keeps the versions of the secret. Every store has it: a process with a wrong or
// outdated secret would see every key as new.
type SecretKeeper interface {
	// Secrets returns the versions by number, and the store's time, read before or together with them:
	// a version that is not among them was added after that.
	Secrets(ctx context.Context) ([]Secret, machine.Instant, error)
	// AddSecret adds a version if its number is new, and otherwise changes nothing. The caller finds
	// out by reading. A version other than the first must have a PrimaryFrom of at least ahead from
	// now on the store's clock, and later than that of every other version, else it is refused
	// with [ErrSecretTooLate].
	AddSecret(ctx context.Context, secret Secret, ahead time.Duration) error
	// RetireSecret marks a version as given up.
	RetireSecret(ctx context.Context, version uint32) error
}
