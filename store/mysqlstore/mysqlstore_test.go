package mysqlstore

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

// The suite runs as a user who can run the service and not change the schema.
func TestConformance(t *testing.T) {
	t.Parallel()
	databases := newServiceDatabases(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		d := databases(t)
		return storetest.Harness{
			Open:    func() (store.Store, error) { return open(t.Context(), d.service, Options{MaxConns: 6}, movable) },
			Advance: d.advance,
		}
	})
}

// Because the clock of a process may be wrong (case O27): an hour ahead of the store's, or behind, it changes
// nothing.
func TestTheClockOfTheProcessDoesNotMatter(t *testing.T) {
	t.Parallel()
	for name, shift := range map[string]time.Duration{"behind": time.Hour, "ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			d.advance(shift)
			storetest.RandomHistory(t, storetest.Harness{
				Open:    func() (store.Store, error) { return open(t.Context(), d.dsn, Options{MaxConns: 6}, movable) },
				Advance: d.advance,
			}, storetest.History{Seed: 5, Steps: 300})
		})
	}
}
