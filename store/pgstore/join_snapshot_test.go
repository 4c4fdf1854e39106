package pgstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Because a transaction above READ COMMITTED does not see what was recorded since it began: a key that was used
// meanwhile under the version of the secret that was primary then would have its effect again under the next one.
func TestJoiningAcrossARotation(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() host, isolation string) {
		guard := s.open(Options{MaxConns: 4})
		for name, meanwhile := range map[string]func(older machine.Begin){
			"nothing": func(machine.Begin) {},
			"answered": func(older machine.Begin) {
				if _, err := s.order(older); err != nil {
					t.Fatal(err)
				}
			},
			"begun": func(older machine.Begin) { want(t, guard, machine.Acquired, older) },
		} {
			older, newer := newBegin(), newBegin()
			h := begin()
			if err := h.exec("SELECT count(*) FROM orders"); err != nil { // takes the snapshot
				t.Fatal(err)
			}
			meanwhile(older)
			now := want(t, guard, machine.NotFound, machine.Inspect{Scope: newer.Scope}).At
			v := invocation(newer)
			v.Candidates = []store.Candidate{{Scope: older.Scope, CreateBefore: now}, {Scope: newer.Scope, CreateFrom: now}}
			effect, err := h.join(t.Context(), v, func(context.Context) (machine.Response, error) {
				return machine.NewResponse("http/1", nil), h.exec(placing, newer.Scope.Digest.String())
			})
			var refusal *store.Refusal
			switch {
			case name == "nothing" && (err != nil || effect.Scope != newer.Scope),
				name != "nothing" && isolation != "read committed" && !errors.Is(err, store.ErrSerialization),
				name == "answered" && isolation == "read committed" && !effect.Replayed,
				name == "begun" && isolation == "read committed" && !errors.As(err, &refusal):
				t.Errorf("%s: %+v, %v", name, effect, err)
			}
			if name != "nothing" {
				h.rollback()
				continue
			}
			if err := h.commit(); err != nil || s.orders(newer) != 1 {
				t.Errorf("%v, %d orders", err, s.orders(newer))
			}
			want(t, guard, machine.NotFound, machine.Inspect{Scope: older.Scope})
		}
	})
}

// Nobody is refused because of what a record was when the transaction began, and is not any more.
func TestJoiningAKeyThatWasAnotherWhenTheTransactionBegan(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *shop, begin func() host, isolation string) {
		guard := s.open(Options{MaxConns: 4})
		for name, meanwhile := range map[string]func(key machine.Begin){
			"completed": func(key machine.Begin) { want(t, guard, machine.CompletedNow, completion(key, nil)) },
			"given up": func(key machine.Begin) {
				want(t, guard, machine.Failed, machine.Fail{Hold: completion(key, nil).Hold, NoEffect: true, Reason: "no", Remember: time.Hour})
			},
		} {
			key := newBegin()
			want(t, guard, machine.Acquired, key)
			h := begin()
			if err := h.exec("SELECT count(*) FROM orders"); err != nil { // takes the snapshot
				t.Fatal(err)
			}
			meanwhile(key)
			effect, err := h.join(t.Context(), invocation(anotherCaller(key)), func(context.Context) (machine.Response, error) {
				return machine.NewResponse("http/1", nil), h.exec(placing, key.Scope.Digest.String())
			})
			if isolation == "read committed" && err != nil || isolation != "read committed" && !errors.Is(err, store.ErrSerialization) {
				t.Errorf("%s: %+v, %v", name, effect, err)
			}
			h.rollback()
		}
	})
}
