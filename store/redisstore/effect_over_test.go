package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A record that is over and still there gives its place to a new one only while one may be made. That is judged where it is replaced: between the
// look at it and that the secret may have been rotated, and the key have gone on under the new one.
func TestAnEffectAfterARecordThatIsOver(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]*Effect{
		"whole":   newEffect(t, `return redis.call('INCR', KEYS[1])`),
		"decided": newDecidedEffect(t, `answer = 1 + (texts[1] or 0)`, `call('INCR', KEYS[1])`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			s, keys := d.open(), []string{d.business("t", "n")}
			first := invocation("key", "t")
			if _, err := e.Do(t.Context(), s, first, keys); err != nil {
				t.Fatal(err)
			}
			d.advance(first.Remember + grace/2)

			next := invocation("key", "t")
			c := &effectCall{effect: e, store: s, invocation: next, keys: keys}
			begin := next.Begin(0, 0)
			c.target = newTarget(s, begin.Scope.Digest)
			over, err := s.load(t.Context(), c.target, nil)
			if err != nil || over.record == nil {
				t.Fatalf("what is over: %+v, %v", over, err)
			}
			begin.CreateBefore, begin.Generation = over.now.Add(time.Millisecond), c.target.generation
			begun, reply := take(over.record, &begin, over.now)
			over.birth = over.now
			try, err := c.prepare(begin, over, begun)
			if reply.Outcome != machine.Acquired || err != nil {
				t.Fatalf("at the time of the look: %+v, %v", reply, err)
			}
			for want(t, s, machine.NotFound, machine.Inspect{Scope: begin.Scope}).At < begin.CreateBefore {
			}
			message, err := try.send(t.Context())
			if _, _, _, _, kind := readEffect(message); kind != effectBarred || err != nil || d.number(keys[0]) != 1 {
				t.Errorf("at the time of the effect: %v, %v, and %d", kind, err, d.number(keys[0]))
			}
			if got, err := e.Do(t.Context(), s, next, keys); err != nil || got.Replayed || string(got.Response.Data) != "2" {
				t.Errorf("without a bound: %+v, %v", got, err)
			}
		})
	}
}

// A variable that a fragment forgets to declare is an error of the fragment, also where the script has one of that name.
func TestFragmentsDoNotReachTheRecord(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, keys := d.open(), []string{d.business("t", "n")}
	for _, variable := range []string{"key", "expiry", "there", "common", "front", "life", "record", "written", "age", "answered"} {
		e := newDecidedEffect(t, `answer = 1 `+variable+` = KEYS[1]`, `call('INCR', KEYS[1])`)
		if got, err := e.Do(t.Context(), s, invocation(variable, "t"), keys); !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) {
			t.Errorf("%s in what decides: %+v, %v", variable, got, err)
		}
		e = newDecidedEffect(t, `answer = 1`, variable+` = KEYS[1] call('INCR', KEYS[1])`)
		if failure, ok := errors.AsType[*EffectError](second(e.Do(t.Context(), s, invocation(variable, "t"), keys))); !ok || failure.Unknown {
			t.Errorf("%s in what changes something: %v", variable, failure)
		}
	}
	if n, err := d.do("EXISTS", keys[0]).AsInt64(); n != 0 || err != nil {
		t.Errorf("something was counted: %d, %v", n, err)
	}
}
