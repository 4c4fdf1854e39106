package redisstore

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// What is ordinary costs the server this many commands and no more, whatever the indexes and the watchers need.
func TestCommandsOfTheHotPath(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(1))
	s := d.open()
	first := newBegin() // what is done for the first time may load a script
	want(t, s, machine.Acquired, first)
	want(t, s, machine.CompletedNow, completion(first, "answer"))
	want(t, s, machine.Replay, anotherCaller(first))

	begin := newBegin()
	met := map[string]int64{"multi": 1, "mget": 1, "time": 2, "evalsha": 1, "set": 1, "getrange": 1, "pexpiretime": 1, "exec": 1}
	for _, step := range []struct {
		name    string
		outcome machine.Outcome
		command machine.Command
		calls   map[string]int64
	}{
		{"begin", machine.Acquired, begin, map[string]int64{"multi": 1, "mget": 1, "time": 2, "evalsha": 1, "set": 1, "exec": 1}},
		{"complete", machine.CompletedNow, completion(begin, "answer"), map[string]int64{"multi": 1, "mget": 1, "time": 2, "evalsha": 1, "get": 1, "set": 1, "exec": 1}},
		{"replay", machine.Replay, anotherCaller(begin), met},
		{"second replay", machine.Replay, anotherCaller(begin), met},
		{"further replay", machine.Replay, anotherCaller(begin), map[string]int64{"multi": 1, "mget": 1, "time": 1, "getrange": 1, "pexpiretime": 1, "exec": 1}},
	} {
		server.Do("CONFIG", "RESETSTAT")
		want(t, s, step.outcome, step.command)
		got := calls(t, server)
		maps.DeleteFunc(got, func(name string, _ int64) bool {
			return name == "info" || name == "config|resetstat" || name == "ping" || name == "auth" || name == "select" || name == "hello"
		})
		if diff := cmp.Diff(step.calls, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
	}
}
