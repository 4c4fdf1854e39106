package redisstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func newDecidedEffect(t testing.TB, decide, change string) *Effect {
	t.Helper()
	e, err := NewDecidedEffect("test", 1, decide, change)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A counter that is incremented, up to a limit.
const (
	decideIncrement = `if tonumber(texts[1] or 0) >= 100 then return noEffect('full') end local n = (texts[1] or 0) + ARGV[1] answer = 'now ' .. n`
	changeIncrement = `call('INCRBY', KEYS[1], ARGV[1]) call('SET', KEYS[2], n)`
)

// The record of a decided effect is what the machine would have made of a begin and a completion, also where it takes over one without
// effect, and where its answer is held.
func TestDecidedEffectIsBeginAndComplete(t *testing.T) {
	t.Parallel()
	for name, older := range map[string]bool{"new": false, "older": true} {
		d := newDatabase(t)
		d.options.older = older
		s, e := d.open(), newDecidedEffect(t, decideIncrement, changeIncrement)
		keys := []string{d.business("account 7", "counter"), d.business("account 7", "copy")}
		for _, full := range []bool{false, true} {
			key := fmt.Sprint("key ", full)
			d.do("SET", keys[0], "1")
			if full {
				d.do("SET", keys[0], "100")
				if failure, ok := errors.AsType[*EffectError](second(e.Do(t.Context(), s, invocation(key, "account 7"), keys, "5"))); !ok || failure.Unknown || failure.Reason != "full" {
					t.Fatalf("%s: a full counter: %v", name, failure)
				}
				d.do("SET", keys[0], "1")
			}
			first := invocation(key, "account 7")
			got, err := e.Do(t.Context(), s, first, keys, "5")
			if err != nil || string(got.Response.Data) != "now 6" || got.Replayed || got.Reply.Outcome != machine.CompletedNow {
				t.Fatalf("%s: %+v, %v", name, got, err)
			}
			record := want(t, s, machine.Found, machine.Inspect{Scope: got.Scope}).Record
			if record.State != machine.Completed || record.Finished != got.Reply.Finished || record.RememberUntil != got.Reply.RememberUntil ||
				record.RememberUntil.Time().Sub(record.Finished.Time()).Round(time.Second) != first.Remember || record.Attempt != got.Reply.Attempt {
				t.Errorf("%s: the record is %+v, the reply %+v", name, record, got.Reply)
			}
			want(t, s, machine.AlreadyCompleted, first.Complete(first.Hold(0, record.Attempt, got.Reply.Revision-1), got.Response))
			again, err := e.Do(t.Context(), s, invocation(key, "account 7"), keys, "5")
			if err != nil || string(again.Response.Data) != "now 6" || !again.Replayed || d.number(keys[0]) != 6 || d.number(keys[1]) != 6 {
				t.Errorf("%s, again: %+v, %v", name, again, err)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }

// What a decided effect says and does decides what is on record, and whether it may be made again, held or not.
func TestDecidedEffectsThatFail(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	for name, c := range map[string]struct {
		decide, change, reason string
		state                  machine.State
		count                  int64
	}{
		"noEffect":                  {`if not texts[1] then return noEffect('insufficient funds') end`, `call('INCR', KEYS[1])`, "insufficient funds", machine.Retryable, 0},
		"an error of the decision":  {`answer = 1 + nil`, `call('INCR', KEYS[1])`, "arithmetic", machine.Absent, 0},
		"a first write that fails":  {`answer = 'done'`, `call('HSET', KEYS[2]) call('INCR', KEYS[1])`, "rong number", machine.Retryable, 0},
		"an error before any write": {`answer = 'done'`, `error('no such thing') call('INCR', KEYS[1])`, "no such thing", machine.Retryable, 0},
		"a second write that fails": {`answer = 'done'`, `call('INCR', KEYS[1]) call('HSET', KEYS[1], 'a', 'b')`, "WRONGTYPE", machine.Abandoned, 1},
		"an error after a write":    {`answer = 'done'`, `call('INCR', KEYS[1]) error('no such thing')`, "no such thing", machine.Abandoned, 1},
	} {
		for _, held := range []bool{false, true} {
			name := fmt.Sprint(name, held)
			keys := []string{d.business(name, "counter"), d.business(name, "other")}
			e := newDecidedEffect(t, c.decide, c.change)
			if held {
				e = e.Held()
			}
			for try := range 3 {
				_, err := e.Do(t.Context(), s, invocation(name, name), keys)
				failure, ok := errors.AsType[*EffectError](err)
				switch {
				case try > 0 && c.state == machine.Abandoned:
					if !refuses(err, machine.RecoveryRequired) {
						t.Errorf("%s, again: %v", name, err)
					}
				case err == nil || !strings.Contains(err.Error(), c.reason) || ok != (c.state != machine.Absent) || ok && failure.Unknown != (c.state == machine.Abandoned):
					t.Errorf("%s: %v", name, err)
				}
			}
			if c.count > 0 && d.number(keys[0]) != c.count {
				t.Errorf("%s was made more than once: %d", name, d.number(keys[0]))
			}
			scope := machine.Inspect{Scope: invocation(name, name).Candidates[0].Scope}
			if c.state == machine.Absent {
				want(t, s, machine.NotFound, scope)
			} else if state := want(t, s, machine.Found, scope).State; state != c.state {
				t.Errorf("%s: its record is %v", name, state)
			}
		}
	}
}

// Where there is no memory left, a decided effect is refused before it changes anything.
func TestDecidedEffectWithoutMemory(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(0))
	s, e := d.open(), newDecidedEffect(t, decideIncrement, changeIncrement)
	keys := []string{d.business("t", "counter"), d.business("t", "copy")}
	server.Config("maxmemory", "1")
	if err := second(e.Do(t.Context(), s, invocation("key", "t"), keys, "1")); err == nil || !strings.Contains(err.Error(), "maxmemory") {
		t.Errorf("without memory: %v", err)
	}
	server.Config("maxmemory", "0")
	if got, err := e.Do(t.Context(), s, invocation("key", "t"), keys, "1"); err != nil || got.Replayed || string(got.Response.Data) != "now 1" {
		t.Errorf("with memory: %+v, %v", got, err)
	}
}

// What decides may only read, and says so in a way that can be checked. No effect goes to another database.
func TestEffectsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{`read('SET', KEYS[1], 1) answer = 1`, `call('INCR', KEYS[1])`}, {`local r = read answer = r('GET', KEYS[1])`, `call('INCR', KEYS[1])`},
		{`answer = redis.call('GET', KEYS[1])`, `call('INCR', KEYS[1])`}, {`answer = 1`, `redis.call('INCR', KEYS[1])`}, {`answer = 1`, ` `},
		{`call('INCR', KEYS[1]) error('x')`, `call('INCR', KEYS[1])`}, {`answer = 1`, `call('SELECT', 1)`},
		{`answer = 1`, `call('INCR', KEYS[1]) return noEffect('too late')`}, {`answer = '--' .. redis.call('INCR', KEYS[1])`, `call('INCR', KEYS[1])`},
		{`--[[ two
lines ]] answer = read('SET', KEYS[1], "\"--")`, `call('INCR', KEYS[1])`},
	} {
		if _, err := NewDecidedEffect("test", 0, c[0], c[1]); err == nil {
			t.Errorf("%q is taken", c)
		}
	}
	for _, fragment := range []string{`redis.call('SELECT', 1)`, `redis.pcall("select", '1')`, `redis.call([[Select]], ARGV[1])`} {
		if _, err := NewEffect("test", fragment); err == nil || !strings.Contains(err.Error(), "other database") {
			t.Errorf("%s: %v", fragment, err)
		}
	}
	if _, err := NewEffect("test", "-- never 'SELECT'\nreturn redis.call('HGET', KEYS[1], 'selected')"); err != nil {
		t.Error(err)
	}
	if _, err := NewDecidedEffect("test", 0, "-- redis, read\n--[[ call\nread ]] answer = read('hget', KEYS[1], 'a') .. '--' -- call", `call('INCR', KEYS[1])`); err != nil {
		t.Error(err)
	}
}

// What decides comes to an answer by assigning it. What it returns instead is no answer: nothing is recorded, and nobody is told that it was.
func TestDecidedEffectsThatReturn(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, keys := d.open(), []string{d.business("t", "n")}
	for _, returned := range []string{"'x'", "", "false", "5", "'5'"} {
		e, err := NewDecidedEffect("test", 0, "do return "+returned+" end", `call('INCR', KEYS[1])`)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := e.Do(t.Context(), s, invocation("key", "t"), keys); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("return %s: %+v, %v", returned, got, err)
		}
	}
}

// Many calls at once come to what they would come to one by one: those that are fresh, that are there already, that have no effect, and that make no sense.
func TestManyEffectsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, e := d.open(), newDecidedEffect(t, decideIncrement, changeIncrement)
	var calls []EffectCall
	for i := range 300 {
		tag := fmt.Sprint("account ", i)
		calls = append(calls, EffectCall{invocation(tag, tag), []string{d.business(tag, "counter "+tag), d.business(tag, "copy "+tag)}, []string{"5"}})
	}
	if _, err := e.Do(t.Context(), s, invocation("account 7", "account 7"), calls[7].Keys, "5"); err != nil {
		t.Fatal(err)
	}
	d.do("SET", calls[8].Keys[0], "100")
	calls[9].Keys = []string{"counter"}
	calls[10].Invocation = &store.Invocation{}
	results := e.DoAll(t.Context(), s, calls)
	for i, r := range results {
		failure, failed := errors.AsType[*EffectError](r.Err)
		switch {
		case i == 8 && failed && failure.Reason == "full", i == 9 && refuses(r.Err, machine.Invalid), i == 10 && errors.Is(r.Err, store.ErrUnavailable):
		case r.Err != nil || string(r.Effect.Response.Data) != "now 5" || r.Effect.Replayed != (i == 7):
			t.Errorf("%d: %+v", i, r)
		default:
			if n := d.number(calls[i].Keys[0]); n != 5 {
				t.Errorf("%d: counted %d", i, n)
			}
		}
	}
	for i, r := range e.DoAll(t.Context(), s, calls[11:]) { // as after a reply that was lost
		if r.Err != nil || r.Effect.Replayed || string(r.Effect.Response.Data) != "now 5" {
			t.Errorf("again, %d: %+v", i, r)
		}
	}
}

// The parts of forms that are taken from one invocation to the next are what they would be for each.
func TestFormsOfAKindAreTheSame(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	for _, held := range []bool{false, true} {
		e := newDecidedEffect(t, decideIncrement, changeIncrement)
		if held {
			e = e.Held()
		}
		for i := range 50 {
			v := invocation(fmt.Sprint(i), "t")
			v.Remember += time.Duration(i%3) * time.Hour
			v.Policy, v.Fingerprints[0].Version = 1+uint32(i%2), 1+uint32(i%5)
			v.Fingerprints[0].Sum = random[machine.Digest]()
			try, ok := e.try(s, EffectCall{Invocation: v})
			if !ok {
				t.Fatal("no try")
			}
			fresh, err := e.newForms(try, v.Hold(0, 1, 1))
			if fresh.kind = try.forms.kind; err != nil || *fresh != *try.forms {
				t.Errorf("%+v, want %+v, %v", try.forms, fresh, err)
			}
			_, args := try.words()
			done, _ := formAround(try.completed, held, anyBirth)
			if args[2]+args[1] != done[0] {
				t.Errorf("the form begins %q, want %q", args[2]+args[1], done[0])
			}
		}
	}
}
