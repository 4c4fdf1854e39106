package admin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A purge goes in bounded steps, tells how far it is, and leaves what is unfinished (case O40).
func TestPurge(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 25 {
		s.complete(s.hold("op", fmt.Sprint(i), 1))
	}
	s.hold("op", "interrupted", 1)
	s.abandon(s.hold("op", "lost", 1))
	service := admin.New(s, admin.Options{Batch: 10})
	s.advance(2*time.Hour - time.Microsecond)
	if n, err := service.Purge(t.Context(), nil); n != 0 || err != nil {
		t.Fatalf("purged %d a microsecond early, error %v", n, err)
	}
	s.advance(time.Microsecond)
	before, err := service.Stats(t.Context())
	if err != nil || before.Due != 25 || before.States["abandoned"] != 2 || before.States["completed"]+before.States["expired"] != 0 {
		t.Fatalf("before: %+v, error %v", before, err)
	}
	var steps []int
	n, err := service.Purge(t.Context(), func(deleted int) { steps = append(steps, deleted) })
	if n != 25 || err != nil || !slices.Equal(steps, []int{10, 20, 25}) {
		t.Errorf("purged %d in steps %v, error %v", n, steps, err)
	}
	after, err := service.Stats(t.Context())
	if err != nil || after.Due != 0 || after.States["abandoned"] != 2 {
		t.Errorf("after: %+v, error %v", after, err)
	}
	for range 1000 {
		s.advance(30 * 24 * time.Hour)
	}
	if n, err := service.Purge(t.Context(), nil); n != 0 || err != nil {
		t.Errorf("purged %d unfinished records after 80 years, error %v", n, err)
	}
}

// A purge whose context ends says how far it came, and the next one goes on from there.
func TestPurgeResumes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 25 {
		s.complete(s.hold("op", fmt.Sprint(i), 1))
	}
	s.advance(2 * time.Hour)
	service := admin.New(s, admin.Options{Batch: 10})
	ctx, cancel := context.WithCancel(t.Context())
	n, err := service.Purge(ctx, func(int) { cancel() })
	if n != 10 || !errors.Is(err, context.Canceled) {
		t.Errorf("purged %d, error %v", n, err)
	}
	if n, err := service.Purge(t.Context(), nil); n != 15 || err != nil {
		t.Errorf("then %d, error %v", n, err)
	}
}

// A secret can be retired only when a later one makes the records and none is left under it.
func TestRetireSecret(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	add := func(version uint32, from time.Duration) {
		secret := store.Secret{Version: version, Check: digest(fmt.Sprint(version))}
		if from > 0 {
			secret.PrimaryFrom = machine.Instant(s.clock.Load()).Add(from)
		}
		if err := s.AddSecret(t.Context(), secret, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	service := admin.New(s, admin.Options{Batch: 2})
	retire := func(version uint32, want error) {
		t.Helper()
		if err := service.RetireSecret(t.Context(), version); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Fatalf("error %v, want %v", err, want)
		}
	}
	retire(1, admin.ErrNotFound)
	add(1, 0)
	retire(1, admin.ErrInUse) // it is the only one
	for i := range 5 {
		s.complete(s.hold("op", fmt.Sprint(i), 1))
	}
	lost := s.abandon(s.hold("op", "lost", 1))
	add(2, time.Minute)
	retire(1, admin.ErrInUse) // the second makes no records yet
	s.advance(time.Minute + time.Hour)
	s.complete(s.hold("op", "new", 2))

	var use *admin.InUseError
	if err := service.RetireSecret(t.Context(), 1); !errors.As(err, &use) || use.States["expired"] != 5 || use.States["abandoned"] != 1 {
		t.Fatalf("error %v: %+v", err, use)
	}
	s.advance(time.Hour) // the completed ones are forgotten, though not purged
	if err := service.RetireSecret(t.Context(), 1); !errors.As(err, &use) || use.States["expired"] != 0 || use.States["abandoned"] != 1 {
		t.Fatalf("error %v: %+v", err, use)
	}
	if _, err := service.Settle(t.Context(), decision("lost", lost)); err != nil {
		t.Fatal(err)
	}
	retire(1, admin.ErrInUse)
	s.advance(8 * 24 * time.Hour)
	retire(1, nil)
	retire(1, nil) // again
	retire(2, admin.ErrInUse)
	known, _, err := s.Secrets(t.Context())
	if err != nil || known[0].Retired.IsZero() || !known[1].Retired.IsZero() {
		t.Errorf("secrets %+v, error %v", known, err)
	}
}

// A record that was made under a secret in somebody's transaction is seen when that ends: until it must have, nobody knows that there
// is none.
func TestRetireSecretWhileTransactionsMayBeOpen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	from := machine.Instant(s.clock.Load()).Add(time.Minute)
	for version, from := range []machine.Instant{0, from} {
		secret := store.Secret{Version: uint32(version + 1), Check: digest(fmt.Sprint(version)), PrimaryFrom: from}
		if err := s.AddSecret(t.Context(), secret, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	service := admin.New(s, admin.Options{})
	for _, later := range []time.Duration{0, time.Minute, time.Hour - time.Microsecond} {
		s.advance(later)
		err := service.RetireSecret(t.Context(), 1)
		if again := from.Add(time.Hour).String(); !errors.Is(err, admin.ErrInUse) || !strings.Contains(err.Error(), again) {
			t.Errorf("%v later: %v, want to be told of %s", later, err, again)
		}
	}
	s.advance(time.Microsecond)
	if err := service.RetireSecret(t.Context(), 1); err != nil {
		t.Errorf("when they must have ended: %v", err)
	}
}

// The mark of a move to another store is no version that makes records: the last one is not retired for it.
func TestRetireSecretOfAMovedStore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	from := machine.Instant(s.clock.Load()).Add(time.Minute)
	for _, secret := range []store.Secret{{Version: 1}, {Version: store.MovedMark, PrimaryFrom: from}} {
		secret.Check = digest(fmt.Sprint(secret.Version))
		if err := s.AddSecret(t.Context(), secret, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	s.advance(time.Minute + time.Hour)
	service := admin.New(s, admin.Options{})
	for version, want := range map[uint32]error{1: admin.ErrInUse, store.MovedMark: admin.ErrNotFound} {
		if err := service.RetireSecret(t.Context(), version); !errors.Is(err, want) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
}

// A listing that leaves records out, or meets one that it cannot read, does not show that a secret is
// not needed.
func TestRetireSecretUnsure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		page store.Page
		want error
	}{
		{store.Page{Partial: true}, store.ErrUnsupported},
		{store.Page{Unreadable: []machine.Digest{digest("x")}}, admin.ErrInUse},
	} {
		s := newShop(t)
		for version, from := range []machine.Instant{0, machine.Instant(s.clock.Load()) + 1} {
			secret := store.Secret{Version: uint32(version + 1), Check: digest(fmt.Sprint(version)), PrimaryFrom: from}
			if err := s.AddSecret(t.Context(), secret, 0); err != nil {
				t.Fatal(err)
			}
		}
		s.advance(time.Second + time.Hour)
		service := admin.New(listing{s, c.page}, admin.Options{})
		if err := service.RetireSecret(t.Context(), 1); !errors.Is(err, c.want) {
			t.Errorf("error %v, want %v", err, c.want)
		}
	}
}

// listing is a store with a listing of its own.
type listing struct {
	*shop
	page store.Page
}

func (l listing) List(context.Context, store.Filter, string, int) (store.Page, error) {
	return l.page, nil
}

// surveyed is a store whose listings are partial and that can look at every record all the same.
type surveyed struct {
	listing
	left store.Counts
}

func (s surveyed) Survey(context.Context, uint32) (store.Counts, int64, error) { return s.left, 0, nil }

// A store that looks at every record in its own way is asked to.
func TestRetireSecretBySurvey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for version, from := range []machine.Instant{0, machine.Instant(s.clock.Load()) + 1} {
		secret := store.Secret{Version: uint32(version + 1), Check: digest(fmt.Sprint(version)), PrimaryFrom: from}
		if err := s.AddSecret(t.Context(), secret, 0); err != nil {
			t.Fatal(err)
		}
	}
	s.advance(time.Second + time.Hour)
	partial := listing{s, store.Page{Partial: true}}
	left := store.Counts{States: map[machine.State]int64{machine.Completed: 3}}
	var use *admin.InUseError
	if err := admin.New(surveyed{partial, left}, admin.Options{}).RetireSecret(t.Context(), 1); !errors.As(err, &use) || use.States["completed"] != 3 {
		t.Errorf("with three records left: %v", err)
	}
	if err := admin.New(surveyed{listing: partial}, admin.Options{}).RetireSecret(t.Context(), 1); err != nil {
		t.Errorf("with none left: %v", err)
	}
}
