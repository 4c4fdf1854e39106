package mysqlstore

import (
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// A commit can be read before it is durable. What a process has replayed is there after the server was killed, also where another one was just
// writing it: whoever was answered would else find the key free.
func TestWhatIsReplayedIsDurable(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{})
	dsn := server.Database(t)
	replayed := 0
	for range 4 {
		answered := replayUntilKilled(t, server, dsn)
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
func replayUntilKilled(t *testing.T, server *servicetest.MariaDBServer, dsn string) (answered []machine.Begin) {
	t.Helper()
	stores := make([]*Store, 2)
	for i := range stores {
		s, err := Open(t.Context(), dsn, Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		stores[i] = s
	}
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
					reply, err := stores[1].Apply(t.Context(), anotherCaller(begin))
					if err != nil {
						break
					}
					if reply.Outcome != machine.Replay {
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
