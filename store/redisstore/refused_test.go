package redisstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What a server refuses certainly did not happen, and the error says so, and what to do.
func TestWhatIsRefusedDidNotHappen(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	s, begun := d.open(), newBegin()
	want(t, s, machine.Acquired, begun)
	for _, c := range []struct {
		begin, end []string
		says       string
	}{
		{[]string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}, "maxmemory"},
		{[]string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}, "min-replicas-to-write"},
		{[]string{"ACL", "SETUSER", "app", "-@write"}, []string{"ACL", "SETUSER", "app", "+@write"}, "ACL"},
	} {
		server.Do(c.begin...)
		fresh := newBegin()
		for _, command := range []machine.Command{fresh, fresh.Claim, completion(begun, "answer")} {
			_, err := s.Apply(t.Context(), command)
			if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, %v: %v", c.begin, command.Kind(), err)
			}
		}
		server.Do(c.end...)
		want(t, s, machine.NotFound, machine.Inspect{Scope: fresh.Scope})
	}
	want(t, s, machine.CompletedNow, completion(begun, "answer"))
}
