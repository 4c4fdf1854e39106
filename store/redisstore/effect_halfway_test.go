package redisstore

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// An effect that fails at its second write is abandoned. However many ask, and however late, it is not made again until
// somebody has settled it.
func TestEffectThatFailsHalfwayIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Clock: true, Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	e := newEffect(t, `redis.call('INCR', KEYS[1]) redis.call('HSET', KEYS[1], 'a', 'b') return 'done'`)
	counter := d.business("t", "counter")
	for _, later := range []time.Duration{0, time.Hour, 40 * 24 * time.Hour} { // the lease is over, and what is remembered of others
		server.Advance(later)
		var callers sync.WaitGroup
		for range 8 {
			s := d.open()
			callers.Go(func() {
				_, err := e.Do(t.Context(), s, invocation("key", "t"), []string{counter})
				if failure, ok := errors.AsType[*EffectError](err); ok && failure.Unknown {
					return // its own
				}
				if !refuses(err, machine.RecoveryRequired) {
					t.Errorf("%v later: %v", later, err)
				}
			})
		}
		callers.Wait()
		if n := d.number(counter); n != 1 {
			t.Errorf("%v later it was made %d times", later, n)
		}
	}
	s, scope := d.open(), invocation("key", "t").Candidates[0].Scope
	record := want(t, s, machine.Found, machine.Inspect{Scope: scope}).Record
	want(t, s, machine.SettledNow, machine.Settle{
		Scope: scope, Operation: random[machine.ID](), Revision: record.Revision, Completed: true, Response: machine.NewResponse(EffectCodec, []byte("half of it")),
		Window: time.Hour, Remember: time.Hour, Who: "operator", Why: "it is in the books",
	})
	got, err := e.Do(t.Context(), s, invocation("key", "t"), []string{counter})
	if err != nil || !got.Replayed || string(got.Response.Data) != "half of it" || d.number(counter) != 1 {
		t.Errorf("settled: %+v, %v", got, err)
	}
}

// Where there is no memory left, an effect is refused before it changes anything, however much it would have written.
func TestEffectWithoutMemoryChangesNothing(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	s, e := d.open(), newEffect(t, `for i = 1, 20 do redis.call('SET', KEYS[i], string.rep('x', 10000)) end return 'done'`)
	var keys []string
	for i := range 20 {
		keys = append(keys, d.business("t", fmt.Sprint("key ", i)))
	}
	before := fmt.Sprint(server.Do("DBSIZE"))
	server.Config("maxmemory", "1")
	for range 3 {
		if _, err := e.Do(t.Context(), s, invocation("key", "t"), keys); err == nil {
			t.Error("it was made")
		}
	}
	server.Config("maxmemory", "0")
	if after := fmt.Sprint(server.Do("DBSIZE")); after != before {
		t.Errorf("there were %s keys, and are %s", before, after)
	}
	want(t, s, machine.NotFound, machine.Inspect{Scope: invocation("key", "t").Candidates[0].Scope})
	if got, err := e.Do(t.Context(), s, invocation("key", "t"), keys); err != nil || got.Replayed || got.Reply.Attempt != 1 {
		t.Errorf("with memory: %+v, %v", got, err)
	}
}
