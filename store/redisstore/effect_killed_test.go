package redisstore

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// ordersTag is that of the data of all orders.
const ordersTag = "shop"

// placeOrder places an order under a key: it counts those of the key, and all. keys are a hash and a counter.
func placeOrder(ctx context.Context, s *Store, key string, keys []string) (store.Effect, error) {
	e, err := NewEffect("order", `
		redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
		return redis.call('INCR', KEYS[2])
	`)
	if err != nil {
		return store.Effect{}, err
	}
	return e.Do(ctx, s, invocation(key, ordersTag), keys, key)
}

// A process that places orders is killed again and again. There is one order for each key that was tried, and
// nothing is half done.
func TestKilledEffectsAreDoneOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	onTopologies(t, func(t *testing.T, start func(*testing.T) string) {
		d := databaseOn(t, start(t))
		killtest.Run(t, shop{d, d.open(), []string{d.business(ordersTag, "orders"), d.business(ordersTag, "total")}})
	})
}

type shop struct {
	*database
	store *Store
	keys  []string
}

func (s shop) Process() *exec.Cmd { return s.child("orders", s.keys...) }

func (s shop) Order(key string) error {
	_, err := placeOrder(s.Context(), s.store, key, s.keys)
	return err
}

func (s shop) Orders(key string) int {
	s.Helper()
	n, err := s.do("HMGET", s.keys[0], key).AsIntSlice()
	if err != nil || len(n) != 1 {
		s.Fatal(n, err)
	}
	return int(n[0])
}

func (s shop) Total() (total killtest.Total) {
	s.Helper()
	keys, err := s.do("HKEYS", s.keys[0]).AsStrSlice()
	if err != nil {
		s.Fatal(err)
	}
	total.Keys, total.Orders = len(keys), int(s.number(s.keys[1]))
	for _, key := range keys {
		reply, err := s.store.Apply(s.Context(), machine.Inspect{Scope: invocation(key, ordersTag).Candidates[0].Scope})
		if err != nil {
			s.Fatal(err)
		}
		if reply.State == machine.Completed {
			total.Answers++
		} else {
			total.Unfinished++
		}
	}
	return total
}

// The server is killed under effects. Its log has record and effect of each together, so that what was acknowledged is
// there, and nothing is half done.
func TestEffectsOnAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	d := databaseOn(t, server.DSN(0))
	s := d.open()
	done, stop := d.traffic(s, "t")
	kills := howMany(3, 50)
	for range kills {
		awaitMore(t, done)
		server.Kill()
		server.Restart()
		if _, err := AcceptLoss(t.Context(), d.dsn, "operator", "the log was written at every write", d.options); err != nil {
			t.Fatal(err)
		}
	}
	awaitMore(t, done)
	stop()
	if n := d.number(d.business("t", "counter")); n != done.Load() {
		t.Errorf("%d keys were counted as %d", done.Load(), n)
	}
	t.Logf("%d kills of the server, %d keys", kills, done.Load())
	if err := d.allCompleted(s); err != nil {
		t.Error(err)
	}
}

// allCompleted looks for records that are not.
func (d *database) allCompleted(s *Store) error {
	ctx, cancel := context.WithTimeout(d.Context(), time.Minute)
	defer cancel()
	var left []string
	for cursor := ""; ; {
		page, err := s.List(ctx, store.Filter{States: []machine.State{machine.Claimed, machine.Executing, machine.Abandoned, machine.Retryable}}, cursor, 100)
		if err != nil {
			return err
		}
		for _, record := range page.Records {
			left = append(left, fmt.Sprint(record.State))
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("records are left that are %s", strings.Join(left, ", "))
	}
	return nil
}
