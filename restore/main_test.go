package restore

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The servers that all tests share end with the process.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/reprise-dev/reprise/internal/servicetest.(*serverLog).collect"))
}
