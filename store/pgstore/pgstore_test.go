package pgstore

import (
	"testing"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

// The suite runs as a role that can run the service and not change the schema.
func TestConformance(t *testing.T) {
	t.Parallel()
	databases := newServiceDatabases(t)
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		d := databases(t)
		return storetest.Harness{
			Open:    func() (store.Store, error) { return Open(t.Context(), d.service, Options{MaxConns: 6}) },
			Advance: d.advance,
		}
	})
}
