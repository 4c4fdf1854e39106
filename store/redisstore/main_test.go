package redisstore

import (
	"testing"

	"go.uber.org/goleak"
)

// The server that all tests share ends with the process.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/reprise-dev/reprise/internal/servicetest.(*serverLog).collect"))
}
