package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// traffic counts keys, each by an effect, from several callers, until stop is called, which returns how many were
// counted to the end. A key that cannot be counted now is tried again.
func (d *database) traffic(s *Store, tag string) (done *atomic.Int64, stop func()) {
	d.Helper()
	e := newEffect(d, increment)
	ctx, cancel := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	var next atomic.Int64
	done = new(atomic.Int64)
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				key := fmt.Sprint("key ", next.Add(1))
				for { // also after the end: a key that was begun is counted
					try, end := context.WithTimeout(context.Background(), 5*time.Second)
					_, err := e.Do(try, s, invocation(key, tag), []string{d.business(tag, "counter")}, "1")
					end()
					if err == nil {
						done.Add(1)
						break
					}
					if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) {
						d.Errorf("%s: %v", key, err)
						break
					}
				}
			}
		})
	}
	return done, func() { cancel(); callers.Wait() }
}

func awaitMore(t *testing.T, done *atomic.Int64) {
	t.Helper()
	from := done.Load()
	eventually(t, func() error {
		if done.Load() < from+50 {
			return fmt.Errorf("%d keys were counted, %d before", done.Load(), from)
		}
		return nil
	})
}

// A planned failover loses nothing, and is accepted by itself: traffic pauses, and every key counts once.
func TestPlannedFailover(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{Replicas: 1})
	d := databaseOn(t, cluster.DSN())
	s := d.open()
	const tag = "account 7"
	counter := d.business(tag, "counter")
	done, stop := d.traffic(s, tag)
	awaitMore(t, done)
	for range 2 { // and back
		master := cluster.Master(counter)
		cluster.Failover(counter)
		if now := cluster.Master(counter); now == master {
			t.Fatal("nothing failed over")
		}
		awaitMore(t, done)
	}
	stop()
	if n := d.number(counter); n != done.Load() {
		t.Errorf("%d keys were counted as %d", done.Load(), n)
	}
	if list, err := d.do("GET", d.names.identities(store.TagBucket(tag))).ToString(); err != nil || len(strings.Fields(list)) != 5 {
		t.Errorf("accepted identities: %q, %v; want those of three primaries and of two that were promoted", list, err)
	}
}

// A primary that dies may have acknowledged what its successor does not have. Nothing runs until somebody has
// looked.
func TestFailoverAfterDeath(t *testing.T) {
	t.Parallel()
	group := servicetest.NewSentinel(t, servicetest.SentinelOptions{})
	d := databaseOn(t, group.DSN())
	s := d.open()
	answered := newBegin()
	want(t, s, machine.Acquired, answered)
	want(t, s, machine.CompletedNow, completion(answered, "answer"))

	master := group.Master()
	key := d.record(answered.Scope.Digest)
	eventually(t, func() error { // the replica has the answer; it could be lost otherwise
		here, there := fmt.Sprint(master.Do("GET", key)), fmt.Sprint(group.Replicas()[0].Do("GET", key))
		if here != there {
			return fmt.Errorf("the replica has %q instead of %q", there, here)
		}
		return nil
	})
	master.Kill()
	group.AwaitFailover(master)
	claim := func(command machine.Command) error {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := s.Apply(ctx, command)
		return err
	}
	eventually(t, func() error {
		err := claim(newBegin())
		if err == nil {
			t.Fatal("a key was claimed on a server that may have lost something")
		}
		if !errors.Is(err, store.ErrLost) {
			return err
		}
		return nil
	})
	if _, err := Open(t.Context(), d.dsn, d.options); !errors.Is(err, store.ErrLost) {
		t.Errorf("open after the failover: %v", err)
	}
	if _, err := AcceptLoss(t.Context(), d.dsn, "operator", "the replica had acknowledged all of it", d.options); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error { return claim(answered.Claim) })
	want(t, s, machine.Replay, anotherCaller(answered))
}
