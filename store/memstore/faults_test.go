package memstore_test

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/faulttest"
)

// A store in memory has no I/O but its commands.
func TestFaults(t *testing.T) {
	t.Parallel()
	faulttest.Run(t, faulttest.Kind{Open: func(t *testing.T) faulttest.Subject {
		h := newHarness(t)
		return faulttest.Subject{Open: h.Open, Advance: h.Advance}
	}})
}
