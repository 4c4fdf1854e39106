package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// invocation is one try under a key whose record is kept beside the data of a tag.
func invocation(key, tag string) *store.Invocation {
	digest := store.Tagged(machine.NewResponse("", []byte(key)).Digest, tag)
	return &store.Invocation{
		Candidates: []store.Candidate{{Scope: machine.Scope{Operation: "POST /orders", SecretVersion: 1, Digest: digest}}},
		Owner:      random[machine.Token](), Operation: random[machine.ID](), Nonce: random[machine.Nonce](),
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{1}}}, Codecs: []string{EffectCodec}, Policy: 1,
		Lease: time.Minute, Window: time.Hour, Remember: 2 * time.Hour, Retryable: time.Hour,
	}
}

func newEffect(t testing.TB, fragment string) *Effect {
	t.Helper()
	e, err := NewEffect("test", fragment)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// business names a key of the data of a tag.
func (d *database) business(tag, name string) string {
	return d.names.prefix + Bucket(tag) + ":" + name
}

// number reads a counter, on a connection that may have ended meanwhile.
func (d *database) number(key string) int64 {
	d.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		n, err := d.client.Do(context.Background(), d.client.B().Get().Key(key).Build()).AsInt64()
		if err == nil {
			return n
		}
		if rueidis.IsRedisNil(err) || time.Now().After(end) {
			d.Fatal(err)
		}
	}
}

const increment = `return 'now ' .. redis.call('INCRBY', KEYS[1], ARGV[1])`

func TestEffectOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, e := d.open(), newEffect(t, increment)
	counter := d.business("account 7", "counter")
	first := invocation("key", "account 7")
	got, err := e.Do(t.Context(), s, first, []string{counter}, "5")
	if err != nil || string(got.Response.Data) != "now 5" || got.Replayed || got.Reply.Outcome != machine.CompletedNow {
		t.Fatalf("%+v, %v", got, err)
	}
	again, err := e.Do(t.Context(), s, invocation("key", "account 7"), []string{counter}, "5")
	if err != nil || string(again.Response.Data) != "now 5" || !again.Replayed {
		t.Errorf("again: %+v, %v", again, err)
	}
	if n := d.number(counter); n != 5 {
		t.Errorf("the counter is %d", n)
	}
	// The record is what the machine would have made of a begin and a completion.
	record := want(t, s, machine.Found, machine.Inspect{Scope: got.Scope}).Record
	hold := first.Hold(0, 1, 1)
	begun, _ := machine.Step(nil, func() machine.Begin { b := first.Begin(0, 0); b.Generation = record.Generation; return b }(), record.Claimed.Time())
	made, _ := machine.Step(begun, first.Complete(hold, machine.NewResponse(EffectCodec, []byte("now 5"))), record.Finished.Time())
	if fmt.Sprintf("%+v", made) != fmt.Sprintf("%+v", record) {
		t.Errorf("the record is\n%+v, want\n%+v", record, made)
	}
	want(t, s, machine.AlreadyCompleted, first.Complete(hold, machine.NewResponse(EffectCodec, []byte("now 5"))))

	other := invocation("key", "account 7")
	other.Fingerprints[0].Sum[0]++
	if _, err := e.Do(t.Context(), s, other, []string{counter}, "5"); !refuses(err, machine.FingerprintMismatch) {
		t.Errorf("another request: %v", err)
	}
	if _, err := e.Do(t.Context(), s, invocation("key 2", "account 7"), []string{"counter"}, "5"); !refuses(err, machine.Invalid) || !strings.Contains(err.Error(), "redisstore.Bucket") {
		t.Errorf("a key in no bucket: %v", err)
	}
}

func refuses(err error, with machine.Outcome) bool {
	refusal, ok := errors.AsType[*store.Refusal](err)
	return ok && refusal.Reply.Outcome == with
}

// What an effect says and does decides what is on record, and whether it may be made again.
func TestEffectsThatFail(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	for name, c := range map[string]struct {
		fragment, reason string
		unknown          bool
		count            int64
	}{
		"noEffect":                  {`if redis.call('GET', KEYS[1]) ~= 'x' then return noEffect('insufficient funds') end`, "insufficient funds", false, 0},
		"an error before it writes": {`error('no such thing')`, "no such thing", false, 0},
		"a first write that fails":  {`redis.call('SET', KEYS[2], 'text') redis.call('DEL', KEYS[2]) return 1 + nil`, "arithmetic", true, 0},
		"a second write that fails": {`redis.call('INCR', KEYS[1]) redis.call('HSET', KEYS[1], 'a', 'b')`, "WRONGTYPE", true, 1},
		"noEffect after a write":    {`redis.call('INCR', KEYS[1]) return noEffect('a lie')`, "a lie", true, 1},
		"a table":                   {`redis.call('INCR', KEYS[1]) return {1, 2}`, "not a text", true, 1},
		"an unknown command":        {`redis.call('NOSUCHCOMMAND', KEYS[1])`, "nknown", false, 0},
	} {
		keys := []string{d.business(name, "counter"), d.business(name, "other")}
		e := newEffect(t, c.fragment)
		for try := range 3 {
			_, err := e.Do(t.Context(), s, invocation(name, name), keys)
			failure, ok := errors.AsType[*EffectError](err)
			switch {
			case try > 0 && c.unknown:
				if !refuses(err, machine.RecoveryRequired) {
					t.Errorf("%s, again: %v", name, err)
				}
			case !ok || failure.Unknown != c.unknown || !strings.Contains(failure.Reason, c.reason):
				t.Errorf("%s: %v", name, err)
			}
		}
		if c.count > 0 && d.number(keys[0]) != c.count {
			t.Errorf("%s was made more than once: %d", name, d.number(keys[0]))
		}
		wanted := machine.Retryable
		if c.unknown {
			wanted = machine.Abandoned
		}
		if state := want(t, s, machine.Found, machine.Inspect{Scope: invocation(name, name).Candidates[0].Scope}).State; state != wanted {
			t.Errorf("%s: its record is %v", name, state)
		}
	}
}

// A key without effect is taken over by who tries again.
func TestEffectAfterNoEffect(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	e := newEffect(t, `if redis.call('EXISTS', KEYS[1]) == 0 then return noEffect('closed') end return redis.call('INCR', KEYS[1])`)
	counter := d.business("t", "counter")
	if _, err := e.Do(t.Context(), s, invocation("key", "t"), []string{counter}); err == nil {
		t.Fatal("the account is closed")
	}
	d.do("SET", counter, "41")
	got, err := e.Do(t.Context(), s, invocation("key", "t"), []string{counter})
	if err != nil || string(got.Response.Data) != "42" || got.Reply.Attempt != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	want(t, s, machine.Found, machine.Inspect{Scope: got.Scope})
}

// With no memory left the record itself is refused, and nothing was changed.
func TestEffectWithoutMemory(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	d := databaseOn(t, server.DSN(0))
	s, e := d.open(), newEffect(t, increment)
	counter := d.business("t", "counter")
	server.Config("maxmemory", "1")
	_, err := e.Do(t.Context(), s, invocation("key", "t"), []string{counter}, "1")
	if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("without memory: %v", err)
	}
	server.Config("maxmemory", "0")
	got, err := e.Do(t.Context(), s, invocation("key", "t"), []string{counter}, "1")
	if err != nil || got.Replayed || string(got.Response.Data) != "now 1" {
		t.Errorf("with memory again: %+v, %v", got, err)
	}
}

// In a cluster, record and data are in one slot.
func TestEffectInACluster(t *testing.T) {
	t.Parallel()
	cluster := servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{})
	d := databaseOn(t, cluster.DSN())
	s, e := d.open(), newEffect(t, increment)
	for i := range 20 {
		tag := fmt.Sprint("account ", i)
		for range 2 {
			if got, err := e.Do(t.Context(), s, invocation("key", tag), []string{d.business(tag, "counter")}, "1"); err != nil || string(got.Response.Data) != "now 1" {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	}
}
