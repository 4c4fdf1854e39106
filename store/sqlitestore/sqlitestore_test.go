package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		path, clock := filepath.Join(t.TempDir(), "reprise.db"), newClock()
		return storetest.Harness{
			Open:    func() (store.Store, error) { return Open(t.Context(), path, Options{Clock: clock.now}) },
			Advance: clock.advance,
		}
	})
}
