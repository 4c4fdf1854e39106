package redisstore

import (
	"testing"

	"go.uber.org/goleak"
)

// The server that all tests share ends with the process. What the client of a cluster starts when the cluster
// has changed ends by itself within seconds.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/reprise-dev/reprise/internal/servicetest.(*serverLog).collect"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
}
