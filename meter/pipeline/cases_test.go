package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// Plans, policies and top-ups are changed by who read them before, over and over, while 100 deductions run: none of these is overwritten (case M4).
func TestSettingsChangeWhileEventsAreDecided(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 4)
		const line, family = "line-0", "family-0"
		decided := make(chan struct{})
		var settings sync.WaitGroup
		settings.Go(func() {
			month := p.calendar.Month(time.Now())
			for n := int64(0); ; n++ {
				select {
				case <-decided:
					return
				default:
				}
				fields := []meter.Field{{Name: "cap", Value: fmt.Sprint(1_000_000 + n)}}
				_, err := p.ledger.PutPolicy(ctx, line, meter.LineCap, n, fields, "test")
				p.must(err)
				policies, err := p.ledger.Policies(ctx, []string{line})
				p.must(err)
				p.must(p.meter.PutLinePolicies(ctx, line, family, policies.Lines[line]))
				p.must(p.ledger.Import(ctx, nil, []meterledger.Line{{ID: line, Family: family, Individual: 20_000 + n, QoS: 5000}}, nil))
				_, err = p.ledger.AddGrant(ctx, meter.Grant{ID: fmt.Sprint("top-up-", n), Kind: meter.TopUp, Line: line, Month: month, Individual: 1})
				p.must(err)
				_, err = p.keeper().Confirm(ctx)
				p.must(err)
			}
		})
		var events []meter.Event
		for n := range 100 {
			e := p.event(n)
			e.Line, e.Bytes = line, 10
			events = append(events, e)
		}
		stop := p.work()
		for _, e := range events { // each by itself, so that they are decided between the changes
			p.accept(p.intake(false), []meter.Event{e})
		}
		var served int64
		for _, row := range p.rows(events) {
			served += row.Result.Individual
		}
		close(decided)
		settings.Wait()
		p.drained()
		stop()
		if served != 1000 {
			t.Errorf("%d bytes were served, want 1000", served)
		}
		p.audit()
	})
}

// Redis restarts under a running worker, with all it had. The worker comes back to it, with its scripts, and decides nothing until somebody has compared it
// or filled it anew: whether it has lost something a restarted Redis does not say (case M14).
func TestRedisRestartsUnderAWorker(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	p := newPlantOn(t, server.DSN(0), servicetest.Postgres(t).Database(t), 8)
	defer p.work()()
	var events []meter.Event
	for n := range 100 {
		events = append(events, p.event(n))
	}
	in := p.intake(false)
	p.accepted(in, events[:20])
	p.rows(events[:20])
	p.accepted(in, events[20:80])
	server.Restart()
	patience, cancel := p.patience()
	defer cancel()
	for patience.Err() == nil { // until the connections are made anew
		_, err := p.meter.Deduct(patience, p.fresh(1000))
		if errors.Is(err, store.ErrLost) {
			break
		}
		if err == nil {
			t.Fatal("it decides on a Redis that restarted, and was not compared")
		}
		pause(patience, 20*time.Millisecond)
	}
	h := p.hydration()
	h.Renew = true
	if _, err := Hydrate(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	p.accepted(in, events)
	p.rows(events)
	p.drained()
	p.audit()
}

// fresh is a delivery of an event that nobody has decided.
func (p *plant) fresh(n int) meterredis.Delivery {
	e := p.event(n)
	return meterredis.Delivery{Event: e, Family: p.families[e.Line]}
}

// An event that was blocked for lack of balance has the same answer when it is sent again after a top-up, from Redis and from SQL, and takes
// nothing; another event takes from the top-up (case M15).
func TestBlockedThenToppedUp(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		ctx, p := t.Context(), newPlant(t, dsn, 4)
		defer p.work()()
		const line = "line-1" // in no family
		e := p.event(1)
		e.Line, e.Bytes = line, 100_000
		p.accept(p.intake(false), []meter.Event{e})
		before := p.rows([]meter.Event{e})
		g := meter.Grant{ID: "top-up", Kind: meter.TopUp, Line: line, Month: p.calendar.Month(e.At), Individual: 200_000}
		_, err := p.ledger.AddGrant(ctx, g)
		p.must(err)
		_, err = p.keeper().Confirm(ctx)
		p.must(err)

		again, err := p.meter.Deduct(ctx, p.checked(e, ""))
		id := meterledger.Identity{Line: line, Event: e.ID}
		if first := before[id].Result; err != nil || !again.Replayed || again.Result != first || first.Blocked != 75_000 {
			t.Errorf("%+v after %+v, %v", again, first, err)
		}
		for _, durable := range []bool{false, true} {
			p.accept(p.intake(durable), []meter.Event{e})
		}
		p.drained()
		wait, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if row, err := p.intake(false).Await(wait, e); err != nil || row.Result != again.Result {
			t.Errorf("%+v, %v", row, err)
		}
		other := e
		other.ID = "another"
		p.accept(p.intake(false), []meter.Event{other})
		for _, row := range p.rows([]meter.Event{other}) {
			if row.Result.Individual != other.Bytes {
				t.Errorf("another event: %+v", row.Result)
			}
		}
		if n, err := p.streams.Dead(ctx); n != 0 || err != nil {
			t.Errorf("%d dead letters, %v", n, err)
		}
		p.drained()
		p.audit()
	})
}
