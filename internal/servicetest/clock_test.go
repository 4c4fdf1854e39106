//go:build unix

package servicetest_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// What expires does so when the clock is put forward, also after a restart.
func TestTheClockOfARedisIsPutForward(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Clock: true})
	clock := func() time.Time {
		reply, ok := server.Do("TIME").([]any)
		if !ok || len(reply) != 2 {
			t.Fatalf("TIME: %v", reply)
		}
		seconds, err := strconv.ParseInt(fmt.Sprint(reply[0]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Unix(seconds, 0)
	}
	server.Do("SET", "short", "1", "EX", "7200")
	server.Do("SET", "long", "1", "EX", "7200")
	if ahead := time.Until(clock()); ahead > time.Minute {
		t.Errorf("it is %v ahead at first", ahead)
	}
	server.Advance(time.Hour)
	server.Do("EXPIRE", "long", "7200")
	server.Advance(90*time.Minute + 1500*time.Millisecond)
	if ahead := time.Until(clock()); ahead < 149*time.Minute {
		t.Errorf("it is %v ahead after two and a half hours", ahead)
	}
	for range 2 {
		wantValue(t, server, "short", nil)
		wantValue(t, server, "long", "1")
		server.Kill()
		server.Restart()
	}
	server.Advance(time.Hour)
	wantValue(t, server, "long", nil)
}
