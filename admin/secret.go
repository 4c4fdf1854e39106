package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// InUseError says how many records still need a version of the secret.
type InUseError struct {
	Version uint32
	// States are the numbers of records that live under it, by judged state.
	States map[string]int64
	// Unreadable is the number of records that cannot be read, and may be under it.
	Unreadable int64
}

// Error implements error.
func (e *InUseError) Error() string {
	left := int64(0)
	for _, n := range e.States {
		left += n
	}
	text := fmt.Sprintf("%v: %d records live under version %d", ErrInUse, left, e.Version)
	if e.Unreadable > 0 {
		text += fmt.Sprintf(", and %d cannot be read", e.Unreadable)
	}
	return text + ": finished ones go when they are forgotten, abandoned ones when they are settled"
}

// Unwrap lets errors.Is find [ErrInUse].
func (e *InUseError) Unwrap() error { return ErrInUse }

// underWay is how long after a later version of the secret has become primary a record that was made under the one before may
// take to be committed, and so to be seen by whoever looks at every record. One that is made in the transaction of its effect is seen when
// that ends, and an action there may take as long as it likes: an hour is longer than anybody should hold a transaction open on a
// server that others use.
const underWay = time.Hour

// RetireSecret gives up a version of the secret. It looks at every record first, and refuses while one
// lives under that version, or while that version still makes records or has done so within the hour. Retiring it again is no error.
func (s *Service) RetireSecret(ctx context.Context, version uint32) error {
	keeper, err := need[store.SecretKeeper](s.store, "keep secrets")
	if err != nil {
		return err
	}
	done, err := retirable(ctx, keeper, version)
	if err != nil || done {
		return err
	}
	if err := s.unused(ctx, version); err != nil {
		return err
	}
	if err := keeper.RetireSecret(ctx, version); err != nil {
		return fmt.Errorf("retiring secret version %d: %w", version, err)
	}
	return nil
}

// retirable checks that a later version makes the records, which a mark of a move does not. done means that it is retired already.
func retirable(ctx context.Context, keeper store.SecretKeeper, version uint32) (done bool, err error) {
	known, now, err := keeper.Secrets(ctx)
	if err != nil {
		return false, fmt.Errorf("reading the versions of the secret: %w", err)
	}
	var old *store.Secret
	for i := range known {
		if known[i].Version == version && !known[i].IsMark() {
			old = &known[i]
		}
	}
	if old == nil {
		return false, fmt.Errorf("%w: the store has no version %d of the secret", ErrNotFound, version)
	}
	if !old.Retired.IsZero() {
		return true, nil
	}
	var next *store.Secret
	for i, later := range known {
		if !later.IsMark() && later.PrimaryFrom > old.PrimaryFrom && later.Retired.IsZero() && (next == nil || later.PrimaryFrom < next.PrimaryFrom) {
			next = &known[i]
		}
	}
	switch {
	case next != nil && next.PrimaryFrom.Add(underWay) <= now:
		return false, nil
	case next != nil:
		return false, fmt.Errorf("%w: version %d makes the new records until %v, and transactions that have made some are given %v to end: try again after %v, when every transaction with a key that began before %v has ended",
			ErrInUse, version, next.PrimaryFrom, underWay, next.PrimaryFrom.Add(underWay), next.PrimaryFrom)
	}
	return false, fmt.Errorf("%w: version %d makes the new records: add a later version with a primary-from, and wait until then", ErrInUse, version)
}

// surveyor is a store whose listings do not look at every record, and which can do so for this.
type surveyor interface {
	// Survey looks at every record and counts those under a version of the secret by judged state, and those that
	// cannot be read.
	Survey(ctx context.Context, version uint32) (counts store.Counts, unreadable int64, err error)
}

// unused looks at every record and refuses if one is under the version.
func (s *Service) unused(ctx context.Context, version uint32) (err error) {
	use := &InUseError{Version: version, States: map[string]int64{}}
	if all, ok := store.As[surveyor](s.store); ok {
		err = survey(ctx, all, use)
	} else {
		err = s.scan(ctx, use)
	}
	if err == nil && (len(use.States) > 0 || use.Unreadable > 0) {
		err = use
	}
	return err
}

func survey(ctx context.Context, all surveyor, use *InUseError) error {
	counts, unreadable, err := all.Survey(ctx, use.Version)
	if err != nil {
		return fmt.Errorf("looking for records under secret version %d: %w", use.Version, err)
	}
	for state, n := range counts.States {
		use.States[state.String()] = n
	}
	use.Unreadable = unreadable
	return nil
}

// scan counts what a listing finds.
func (s *Service) scan(ctx context.Context, use *InUseError) error {
	lister, err := need[store.Lister](s.store, "list records, which tells whether a secret is needed")
	if err != nil {
		return err
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := lister.List(ctx, store.Filter{SecretVersion: use.Version}, cursor, s.options.Batch)
		if err != nil {
			return fmt.Errorf("looking for records under secret version %d: %w", use.Version, err)
		}
		if page.Partial {
			return fmt.Errorf("%w: this store's listing does not look at every record, so nobody knows whether version %d is still needed", store.ErrUnsupported, use.Version)
		}
		for _, r := range page.Records {
			state, _ := r.Judge(page.At)
			use.States[state.String()]++
		}
		use.Unreadable += int64(len(page.Unreadable))
		cursor = page.Next
	}
	return nil
}
