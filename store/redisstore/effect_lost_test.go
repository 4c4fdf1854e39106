package redisstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

// howMany returns how many there are of something: few, or many in a long run.
func howMany(few, many int) int {
	if os.Getenv("REPRISE_PROVE") == "1" {
		return many
	}
	return few
}

// Requests and replies of effects are lost at random, connections are cut, and the server forgets its scripts. Callers try
// until they have an answer; then each key is counted once (cases M2, O28).
func TestLostEffectsAreSettled(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
	s, err := Open(t.Context(), proxy.Through(d.dsn), d.options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, counter, keys := newEffect(t, increment), d.business("t", "counter"), howMany(1500, 100_000)
	proxy.SetPlan(faultnet.Random(rand.Uint64(), 20, faultnet.ReplyLost(), faultnet.ReplyCut(), faultnet.RequestLost(), faultnet.RequestCut()))

	var done, failed, doubted, cuts atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	var troubles, callers sync.WaitGroup
	troubles.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			server.Do("SCRIPT", "FLUSH")
			if i%8 == 0 {
				proxy.CutAll()
				cuts.Add(1)
			}
			pause(ctx, time.Duration(rand.N(int64(20*time.Millisecond))))
		}
	})
	work := make(chan int)
	for range 32 {
		callers.Go(func() {
			for i := range work {
				if d.insistOn(e, s, fmt.Sprint("key ", i), counter, &failed, &doubted) {
					done.Add(1)
				}
			}
		})
	}
	for i := range keys {
		work <- i
	}
	close(work)
	callers.Wait()
	stop()
	troubles.Wait()
	struck := proxy.Struck()
	proxy.SetPlan(faultnet.None)
	if n := d.number(counter); n != int64(keys) || done.Load() != int64(keys) {
		t.Errorf("%d keys were counted as %d, and %d were answered", keys, n, done.Load())
	}
	if struck < keys/50 || failed.Load() == 0 {
		t.Errorf("%d messages were struck, %d tries failed: too few to show anything", struck, failed.Load())
	}
	t.Logf("%d keys, %d messages lost or cut, %d cuts of all connections, %d tries were refused, %d in doubt", keys, struck, cuts.Load(), failed.Load(), doubted.Load())
}

// insistOn makes an effect until it has an answer. Every try is an invocation of its own, as that of a client that was
// told nothing, and has little time.
func (d *database) insistOn(e *Effect, s *Store, key, counter string, failed, doubted *atomic.Int64) bool {
	d.Helper()
	for tries := 0; ; tries++ {
		ctx, cancel := context.WithTimeout(d.Context(), 10*time.Second)
		effect, err := e.Do(ctx, s, invocation(key, "t"), []string{counter}, "1")
		cancel()
		switch {
		case err == nil && effect.Replayed && tries == 0:
			d.Errorf("%s: a first try was answered with a replay", key)
			return false
		case err == nil:
			return true
		case errors.Is(err, store.ErrIndeterminate):
			doubted.Add(1)
		case errors.Is(err, store.ErrUnavailable):
			failed.Add(1)
		default:
			d.Errorf("%s: %v", key, err)
			return false
		}
	}
}

// An effect whose reply is lost, and that cannot be asked for again, is in doubt, and not certainly undone.
func TestALostEffectThatCannotBeLookedUpIsInDoubt(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
	s, err := Open(t.Context(), proxy.Through(d.dsn), d.options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	e, counter := newEffect(t, increment), d.business("t", "counter")
	if _, err := e.Do(t.Context(), s, invocation("first", "t"), []string{counter}, "1"); err != nil { // the script is known from now on
		t.Fatal(err)
	}
	lost := false
	proxy.SetPlan(func(r faultnet.Request) faultnet.Fault {
		if lost {
			return faultnet.RequestLost() // whoever connects anew does not get so far as to ask
		}
		if lost = bytes.Contains(r.Bytes, []byte(counter)); lost {
			return faultnet.ReplyLost()
		}
		return faultnet.Fault{}
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = e.Do(ctx, s, invocation("second", "t"), []string{counter}, "1")
	if n := d.number(counter); n != 2 {
		t.Fatalf("the counter is %d", n)
	}
	if !errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("it was made, and its caller was told: %v", err)
	}
	proxy.SetPlan(faultnet.None)
	if effect, err := e.Do(t.Context(), s, invocation("second", "t"), []string{counter}, "1"); err != nil || !effect.Replayed || string(effect.Response.Data) != "now 2" {
		t.Errorf("asked again: %+v, %v", effect, err)
	}
}

// An effect in doubt is asked for again until the store is closed: Close does not wait until its caller gives up.
func TestCloseEndsAnEffectInDoubt(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	proxy := faultnet.New(t, server.Addr(), faultnet.Redis())
	s, err := Open(t.Context(), proxy.Through(d.dsn), d.options)
	if err != nil {
		t.Fatal(err)
	}
	e, counter := newEffect(t, increment), d.business("t", "counter")
	if _, err := e.Do(t.Context(), s, invocation("first", "t"), []string{counter}, "1"); err != nil { // the script is known from now on
		t.Fatal(err)
	}
	lost, again := 0, make(chan struct{})
	proxy.SetPlan(func(r faultnet.Request) faultnet.Fault {
		if lost == 0 && !bytes.Contains(r.Bytes, []byte(counter)) {
			return faultnet.Fault{}
		}
		switch lost++; lost {
		case 1:
			return faultnet.ReplyLost()
		case 2:
			close(again)
		}
		return faultnet.RequestLost()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a failure ends
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := e.Do(ctx, s, invocation("second", "t"), []string{counter}, "1")
		ended <- err
	}()
	<-again
	if err := s.Close(); err != nil || ctx.Err() != nil {
		t.Errorf("close: %v, %v", err, ctx.Err())
	}
	if err := <-ended; !errors.Is(err, store.ErrIndeterminate) || errors.Is(err, store.ErrUnavailable) {
		t.Errorf("it was made, and its caller was told: %v", err)
	}
	if n := d.number(counter); n != 2 {
		t.Errorf("the counter is %d", n)
	}
}

// While Close waits for a command under way, those who come are told that the store is closed, and do not wait.
func TestCloseMakesNobodyElseWait(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open()
	if err := s.enter(t.Context()); err != nil { // a command under way
		t.Fatal(err)
	}
	closed, refused := make(chan error, 1), make(chan error, 1)
	go func() { closed <- s.Close() }()
	go func() {
		for {
			if err := s.enter(context.Background()); err != nil {
				refused <- err
				return
			}
			s.leave()
		}
	}()
	select {
	case err := <-refused:
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errClosed) {
			t.Errorf("who came while the store was being closed: %v", err)
		}
	case <-time.After(time.Minute): // so that a failure ends
		t.Error("who came while the store was being closed waits")
	}
	select {
	case err := <-closed:
		t.Errorf("closed while a command was under way: %v", err)
	default:
	}
	s.leave()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}
