package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Redis loses what it has acknowledged, in ways that its keys do not show. No key that was answered is had again, by who
// was connected or by who connects; it is logged with the next step; and it ends when somebody accepts it.
func TestLossesThatKeysDoNotShow(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (dsn string, lose func(l *loss)){
		"a restart from an older dump": func(t *testing.T) (string, func(*loss)) {
			server := servicetest.NewRedis(t, servicetest.RedisOptions{})
			return server.DSN(0), func(l *loss) {
				dump := server.Dump()
				l.answer()
				server.RestartFrom(dump)
			}
		},
		"a server of a cluster comes back empty": func(t *testing.T) (string, func(*loss)) {
			cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{})
			return cluster.DSN(), func(l *loss) {
				lost := cluster.Masters()[1]
				for _, begin := range l.answer() {
					if cluster.Master(l.names.generation(bucketOf(begin.Scope.Digest))) != lost {
						l.kept = append(l.kept, begin)
					}
				}
				lost.RestartFrom(servicetest.RedisDump{})
				cluster.AwaitReady()
			}
		},
		"a failover": func(t *testing.T) (string, func(*loss)) {
			group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
			return group.DSN(), func(l *loss) {
				master, replica := group.Master(), group.Replicas()[0]
				replica.AwaitSync(master) // it knows the store
				replica.Unlink()
				l.answer()
				master.Kill()
				group.AwaitFailover(master)
			}
		},
		"a failover and back": func(t *testing.T) (string, func(*loss)) {
			group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
			return group.DSN(), func(l *loss) {
				master, replica := group.Master(), group.Replicas()[0]
				run := master.Info()["run_id"]
				replica.AwaitSync(master)
				replica.Unlink()
				l.answer()
				master.Pause()
				group.AwaitFailover(master)
				replica.Relink()
				master.Resume()
				group.AwaitReady()
				if group.Failover() != master || master.Info()["run_id"] != run {
					t.Fatal("it is not the same server again")
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn, lose := start(t)
			l := &loss{database: databaseOn(t, dsn), t: t}
			l.options.Log = slog.New(slog.NewTextHandler(&l.log, nil))
			l.store = l.open()
			l.answer()
			lose(l)
			l.noticed()
			l.accepted()
		})
	}
}

// loss is a store that loses something.
type loss struct {
	*database
	t        *testing.T
	store    *Store
	log      notes
	answered []machine.Begin // before it was lost
	kept     []machine.Begin // on servers that have lost nothing
}

// answer answers some keys more.
func (l *loss) answer() (keys []machine.Begin) {
	for range 30 {
		begin := newBegin()
		want(l.t, l.store, machine.Acquired, begin)
		want(l.t, l.store, machine.CompletedNow, completion(begin, "answer"))
		keys = append(keys, begin)
	}
	l.answered = append(l.answered, keys...)
	return keys
}

// claim claims a key that was answered, on behalf of somebody else.
func (l *loss) claim(s *Store, begin machine.Begin) error {
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Second)
	defer cancel()
	reply, err := s.Apply(ctx, anotherCaller(begin))
	if err == nil && reply.Outcome != machine.Replay {
		l.t.Fatalf("a key that was answered: %v", reply.Outcome)
	}
	return err
}

// noticed waits until the loss is noticed, by who was connected and by who connects.
func (l *loss) noticed() {
	connects, err := Open(l.t.Context(), l.dsn, l.options)
	if err == nil {
		defer connects.Close()
	} else if !errors.Is(err, store.ErrLost) || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "--accept-loss") {
		l.t.Errorf("open: %v", err)
	}
	for _, s := range []*Store{l.store, connects} {
		if s == nil {
			continue
		}
		lost := 0
		for _, begin := range l.answered {
			eventually(l.t, func() error { // until connections are there again
				if err := l.claim(s, begin); errors.Is(err, store.ErrLost) {
					lost++
				} else {
					return err
				}
				return nil
			})
		}
		if lost == 0 || len(l.kept) == 0 && lost != len(l.answered) {
			l.t.Errorf("of %d keys that were answered %d are lost", len(l.answered), lost)
		}
		for _, begin := range l.kept {
			if err := l.claim(s, begin); err != nil {
				l.t.Errorf("a key of another server: %v", err)
			}
		}
	}
	if text := l.log.String(); connects == nil && !strings.Contains(text, "level=ERROR") {
		l.t.Errorf("logged: %s", text)
	}
}

// accepted accepts it: then there is work again.
func (l *loss) accepted() {
	if _, err := AcceptLoss(l.t.Context(), l.dsn, "operator", "looked into the books", l.options); err != nil {
		l.t.Fatal(err)
	}
	for range 30 {
		begin := newBegin()
		eventually(l.t, func() error {
			reply, err := l.store.Apply(l.t.Context(), begin)
			if err == nil && reply.Outcome != machine.Acquired && reply.Outcome != machine.InProgress {
				err = fmt.Errorf("a new key: %v", reply.Outcome)
			}
			return err
		})
	}
}

// notes are what was logged.
type notes struct {
	mu   sync.Mutex
	text strings.Builder
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}
