package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Requests and replies of effects are lost at random. Callers try until they have an answer; then there is
// one order for each.
func TestLostEffectsAreSettled(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	d := prepare(t, server.Database(t))
	d.exec(ordersTable)
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	faulty, sound := &shop{d, d.newPool(proxy.Through(d.dsn))}, &shop{d, d.newPool(d.dsn)}
	proxy.SetPlan(faultnet.Random(2, 10, faultnet.ReplyLost(), faultnet.ReplyCut(), faultnet.RequestLost(), faultnet.RequestCut()))
	var unavailable, ran atomic.Int64
	var group sync.WaitGroup
	callers, keys := 4, killtest.Rounds()
	for range callers {
		group.Go(func() {
			for range keys {
				key := newBegin()
				for tries := 0; ; tries++ {
					effect, err := effects.Do(t.Context(), faulty.pool, invocation(anotherCaller(key)), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
						ran.Add(1)
						return placeOrder(ctx, tx, key.Scope.Digest)
					})
					if err == nil && effect.Replayed && tries == 0 {
						t.Error("a first try was answered with a replay")
					}
					if err == nil {
						break
					}
					// The action's own errors come through as they are.
					if errors.Is(err, store.ErrIndeterminate) {
						t.Errorf("nobody could find out: %v", err)
					}
					unavailable.Add(1)
				}
				if n := sound.orders(key); n != 1 {
					t.Errorf("%d orders for one key", n)
				}
			}
		})
	}
	group.Wait()
	if unavailable.Load() == 0 || proxy.Struck() < 20 {
		t.Errorf("%d tries failed, %d messages were struck: too few to show anything", unavailable.Load(), proxy.Struck())
	}
	proxy.SetPlan(faultnet.None)
	t.Logf("%d keys, each with one order", callers*keys)
}

// A commit whose reply was lost is looked up: a reconciled success equals a direct one (case O31).
func TestALostCommitOfAnEffect(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	d := prepare(t, server.Database(t))
	d.exec(ordersTable)
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	s := &shop{d, d.newPool(proxy.Through(d.dsn))}
	guard := d.open(Options{})
	order := func(key machine.Begin, fault faultnet.Fault) (store.Effect, error) {
		var struck atomic.Bool
		proxy.SetPlan(func(r faultnet.Request) faultnet.Fault {
			if strings.HasSuffix(string(r.Bytes), "COMMIT") && !struck.Swap(true) { // a later one is of a look at what came of the first
				return fault
			}
			return faultnet.Fault{}
		})
		effect, err := s.order(key)
		if proxy.Struck() != 1 {
			t.Errorf("%d messages were struck", proxy.Struck())
		}
		proxy.SetPlan(faultnet.None)
		return effect, err
	}
	committed := newBegin()
	effect, err := order(committed, faultnet.ReplyLost())
	if err != nil || effect.Replayed || s.orders(committed) != 1 {
		t.Errorf("committed: %+v, %v, %d orders", effect, err, s.orders(committed))
	}
	record := want(t, guard, machine.Found, machine.Inspect{Scope: committed.Scope})
	if record.Finished != effect.Reply.Finished || record.Revision != effect.Reply.Revision || record.RememberUntil != effect.Reply.RememberUntil {
		t.Errorf("recorded %+v, told %+v", record, effect.Reply)
	}
	undone := newBegin()
	if _, err = order(undone, faultnet.RequestLost()); !errors.Is(err, store.ErrUnavailable) || s.orders(undone) != 0 {
		t.Errorf("not committed: %v, %d orders", err, s.orders(undone))
	}
	if effect, err := s.order(undone); err != nil || effect.Replayed {
		t.Errorf("again: %+v, %v", effect, err)
	}
}

// Because a network that says nothing would keep the caller for ever, whose context has ended: what an action has left is looked for, but not
// for long.
func TestAJoinedActionWhoseNetworkIsGone(t *testing.T) {
	t.Parallel()
	proxy := faultnet.New(t, servicetest.MariaDB(t).Addr(), faultnet.MySQL())
	d := newDatabase(t)
	s := &shop{d, d.newPool(proxy.Through(d.dsn))}
	tx, err := s.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	begin, gone := newBegin(), errors.New("the caller has gone")
	ctx, cancel := context.WithCancel(t.Context())
	_, err = effects.Join(ctx, tx, invocation(begin), func(context.Context) (machine.Response, error) {
		proxy.SetPlan(faultnet.From(1, faultnet.RequestLost().Hanging()))
		cancel()
		return machine.Response{}, gone
	})
	if !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	proxy.CutAll()
}
