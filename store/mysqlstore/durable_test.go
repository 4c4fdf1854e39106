package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A commit can be read before it is durable. What a process has replayed is there after the server was killed, also where another one was just
// writing it: whoever was answered would else find the key free.
func TestWhatIsReplayedIsDurable(t *testing.T) {
	t.Parallel()
	for name, replays := range map[string]func(t *testing.T, s *Store, dsn string) replaying{"a claim": byClaim, "an effect": byEffect} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			isDurable(t, replays)
		})
	}
}

// replaying tries whether the key of a begin has an answer.
type replaying func(begin machine.Begin) (replayed bool, err error)

func byClaim(t *testing.T, s *Store, _ string) replaying {
	return func(begin machine.Begin) (bool, error) {
		reply, err := s.Apply(t.Context(), anotherCaller(begin))
		return reply.Outcome == machine.Replay, err
	}
}

func byEffect(t *testing.T, _ *Store, dsn string) replaying {
	pool, err := openDB(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	return func(begin machine.Begin) (bool, error) {
		effect, err := Do(t.Context(), pool, invocation(anotherCaller(begin)), func(context.Context, *sql.Tx) (machine.Response, error) {
			return machine.Response{}, errPaper
		})
		if _, refused := errors.AsType[*store.Refusal](err); refused { // it is in progress
			return false, nil
		}
		return effect.Replayed, err
	}
}

func isDurable(t *testing.T, replays func(t *testing.T, s *Store, dsn string) replaying) {
	t.Helper()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{})
	dsn := server.Database(t)
	replayed := 0
	for range 4 {
		answered := replayUntilKilled(t, server, dsn, replays)
		replayed += len(answered)
		server.Restart()
		s, err := Open(t.Context(), dsn, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, begin := range answered {
			if reply := apply(t, s, machine.Inspect{Scope: begin.Scope}); reply.State != machine.Completed {
				t.Errorf("%x was replayed, and is %v after the server was killed", begin.Scope.Digest[:4], reply.State)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if replayed == 0 {
		t.Error("nothing was replayed")
	}
}

// replayUntilKilled has one process write answers and another replay them at once, and kills the server in the middle. It returns what was
// replayed.
func replayUntilKilled(t *testing.T, server *servicetest.MariaDBServer, dsn string, replays func(t *testing.T, s *Store, dsn string) replaying) (answered []machine.Begin) {
	t.Helper()
	stores := make([]*Store, 2)
	for i := range stores {
		s, err := Open(t.Context(), dsn, Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		stores[i] = s
	}
	replay := replays(t, stores[1], dsn)
	const pairs, many = 8, 200
	var mu sync.Mutex
	var group sync.WaitGroup
	enough := make(chan struct{})
	for range pairs {
		begun := make(chan machine.Begin, 1)
		group.Go(func() {
			defer close(begun)
			for {
				begin := newBegin()
				if _, err := stores[0].Apply(t.Context(), begin); err != nil {
					return
				}
				begun <- begin
				if _, err := stores[0].Apply(t.Context(), completion(begin, []byte("answer"))); err != nil {
					return
				}
			}
		})
		group.Go(func() {
			for begin := range begun {
				for {
					replayed, err := replay(begin)
					if err != nil {
						break
					}
					if !replayed {
						continue
					}
					mu.Lock()
					if answered = append(answered, begin); len(answered) == many {
						close(enough)
					}
					mu.Unlock()
					break
				}
			}
		})
	}
	<-enough
	server.Kill()
	for _, s := range stores { // which ends all that waits
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	return answered
}
