package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, newHarness)
}

// newHarness is a store whose clock stands still unless it is moved.
func newHarness(*testing.T) storetest.Harness {
	var now atomic.Int64
	now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	s := memstore.New(func() time.Time { return time.UnixMicro(now.Load()) })
	return storetest.Harness{
		Open:    func() (store.Store, error) { return s, nil },
		Advance: func(d time.Duration) { now.Add(d.Microseconds()) },
	}
}
