package faultnet_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/faultnet"
)

// driver connects a driver that sends commands of many callers in pipelines, over one connection, and
// keeps what it read until it is told that it changed.
func (s shop) driver(t *testing.T) rueidis.Client {
	t.Helper()
	options, err := rueidis.ParseURL(s.proxy.Through(s.dsn))
	if err != nil {
		t.Fatal(err)
	}
	options.DisableRetry = true
	options.PipelineMultiplex = -1 // one connection
	options.ConnWriteTimeout = time.Minute
	client, err := rueidis.NewClient(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestEachCommandOfADriverOfRedisIsOneRequest(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	client := s.driver(t)
	key := "i in " + s.dsn // a change of a key of this name in any database makes the driver read again
	incr := func() rueidis.Completed { return client.B().Incr().Key(key).Build() }
	for _, step := range []struct {
		name     string
		do       func() error
		requests int
	}{
		{"one", func() error { return client.Do(t.Context(), incr()).Error() }, 1},
		{"of many callers", func() error {
			var callers sync.WaitGroup
			for range 300 {
				callers.Go(func() {
					if err := client.Do(t.Context(), incr()).Error(); err != nil {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			return nil
		}, 300},
		{"a transaction", func() error {
			replies := client.DoMulti(t.Context(), client.B().Multi().Build(), incr(), incr(), client.B().Exec().Build())
			_, err := replies[3].ToArray()
			return err
		}, 1},
		{"read and kept", func() error {
			return client.DoCache(t.Context(), client.B().Get().Key(key).Cache(), time.Hour).Error()
		}, 1},
		{"read again", func() error {
			return client.DoCache(t.Context(), client.B().Get().Key(key).Cache(), time.Hour).Error()
		}, 0},
	} {
		s.proxy.SetPlan(faultnet.None)
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if n := s.proxy.Requests(); n != step.requests {
			t.Errorf("%s: %d requests, want %d", step.name, n, step.requests)
		}
	}
	if sold, err := s.direct.Do("GET", key); sold != "303" || err != nil {
		t.Errorf("sold: %v, %v", sold, err)
	}
}

func TestADriverOfRedisWhoseReplyIsLost(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	client := s.driver(t)
	s.proxy.SetPlan(faultnet.First("ii", faultnet.ReplyLost()))
	transaction := rueidis.Commands{client.B().Multi().Build()}
	for _, command := range sell(2) {
		transaction = append(transaction, client.B().Arbitrary(command...).Build())
	}
	replies := client.DoMulti(t.Context(), append(transaction, client.B().Exec().Build())...)
	if _, err := replies[3].ToArray(); err == nil {
		t.Error("the transaction was reported as done")
	}
	s.wantSold(t, "1", "1")
	if err := client.Do(t.Context(), client.B().Incr().Key("i").Build()).Error(); err != nil {
		t.Errorf("on a new connection: %v", err)
	}
	s.wantSold(t, "2", "1")
}

func TestMessagesReachADriverOfRedis(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	client := s.driver(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := s.proxy.Next(faultnet.Is(faultnet.Answered))
	got := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- client.Receive(ctx, client.B().Subscribe().Channel(s.dsn).Build(), func(m rueidis.PubSubMessage) { got <- m.Message })
	}()
	<-answered
	if _, err := s.direct.Do("PUBLISH", s.dsn, "tea"); err != nil {
		t.Fatal(err)
	}
	if message := <-got; message != "tea" {
		t.Errorf("got %q", message)
	}
	cancel()
	<-ended
	if err := client.Do(t.Context(), client.B().Get().Key("i").Build()).Error(); !rueidis.IsRedisNil(err) {
		t.Errorf("after it: %v", err)
	}
}
