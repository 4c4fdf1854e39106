package redisstore

import (
	"testing"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		d := newDatabase(t)
		return storetest.Harness{
			Open:    func() (store.Store, error) { return Open(t.Context(), d.dsn, d.options) },
			Advance: d.advance,
			Fades:   true,
		}
	})
}
