package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// benchServing measures `reprise meter serve` on the plant: from the intake to the done log, and how long an intake takes.
func (p *meterPlant) benchServing(ctx context.Context, s settings, t *table) (err error) {
	serving, err := p.serve(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, serving.stop()) }()
	streams, err := p.meter.OpenStreams(ctx, meterStreamLimit)
	if err != nil {
		return err
	}
	if err := p.benchThroughput(ctx, s, t, serving.address, streams); err != nil {
		return err
	}
	return p.benchLatency(ctx, s, t, serving.address)
}

// meterStreamLimit is as the configuration has it by itself.
const meterStreamLimit = 100_000

// serve starts `reprise meter serve`.
func (p *meterPlant) serve(ctx context.Context, s settings) (*child, error) {
	binary, err := buildReprise(ctx, s)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("meter-%s-%d", p.name, p.lines)
	file := filepath.Join(s.dir, name+".yaml")
	text := fmt.Sprintf("redis: %s\nledger: %s\nretention: %v\ntolerance: %v\n", p.redis, p.sql, meterHorizon.Retention, meterHorizon.Tolerance)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return startServing(ctx, s, name, binary, "meter", "serve", "--config", file)
}

// benchThroughput sends events as fast as they are taken, and looks how long it takes until all are in the done log.
func (p *meterPlant) benchThroughput(ctx context.Context, s settings, t *table, address string, streams *meterredis.Streams) error {
	script := rueidis.NewLuaScript(markByHand)
	t.progress("meter: %d rounds of events from the intake to %s", s.rounds, p.name)
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) { return p.eventsRate(ctx, address, streams) },
		func() (float64, error) { return rate(ctx, meterCallers, func() error { return p.mark(ctx, script) }) })
	if err != nil {
		return err
	}
	t.atLeast(fmt.Sprintf("meter, events from the intake to a row in %s (%s)", p.name, thousands(medians.ours)),
		fmt.Sprintf("a script with a mark, a counter and a field (%s)", thousands(medians.limit)), ratio, 0.15, "×")
	return nil
}

// eventsRate returns how many events a second come from the intake into the done log.
func (p *meterPlant) eventsRate(ctx context.Context, address string, streams *meterredis.Streams) (_ float64, err error) {
	const bodies, lines, atOnce = 60, 1000, 8
	in, err := dial(address, atOnce)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	texts, last := make(chan []byte, bodies), meterledger.Identity{}
	for range bodies {
		var body []byte
		for range lines {
			e, _ := p.event()
			body = append(e.AppendJSON(body), '\n')
			last = meterledger.Identity{Line: e.Line, Event: e.ID}
		}
		texts <- body
	}
	close(texts)
	started := time.Now()
	var group sync.WaitGroup
	failures := make(chan error, atOnce)
	for _, c := range in {
		group.Go(func() {
			for text := range texts {
				if err := c.usage(text, "application/x-ndjson"); err != nil {
					failures <- err
				}
			}
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return 0, err
	default:
	}
	if err := drained(ctx, streams); err != nil {
		return 0, err
	}
	took := time.Since(started)
	found, err := p.ledger.LookupDone(ctx, []meterledger.Identity{last})
	if err == nil && len(found) != 1 {
		err = errors.New("an event has no row: it was refused")
	}
	return bodies * lines / took.Seconds(), err
}

// drained waits until nothing is in the streams.
func drained(ctx context.Context, streams *meterredis.Streams) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		if n, err := streams.Waiting(ctx); err != nil || n == 0 {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// usage posts events, again and again while the streams are full, and reads how each was taken in.
func (c *client) usage(body []byte, contentType string) error {
	for {
		c.out = fmt.Appendf(c.out[:0], "POST /v1/usage HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", c.where, contentType, len(body))
		out := net.Buffers{c.out, body}
		if _, err := out.WriteTo(c.conn); err != nil {
			return err
		}
		answer, err := http.ReadResponse(c.in, nil)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		switch {
		case answer.StatusCode == http.StatusTooManyRequests:
			time.Sleep(20 * time.Millisecond)
		case answer.StatusCode != http.StatusAccepted || bytes.Contains(text, []byte(`"accepted":false`)):
			return fmt.Errorf("answered %d: %.500s", answer.StatusCode, text)
		default:
			return nil
		}
	}
}

// benchLatency compares how long an intake takes with how long a bare XADD takes, both 1,000 times a second.
func (p *meterPlant) benchLatency(ctx context.Context, s settings, t *table, address string) error {
	t.progress("meter: %d rounds of 1,000 intakes a second", s.rounds)
	medians, ratio, err := inTurns(s.rounds,
		func() (float64, error) { return p.intakeLatency(ctx, address) },
		func() (float64, error) { return latency(ctx, func() error { return p.xadd(ctx) }) })
	if err != nil {
		return err
	}
	t.atMost(fmt.Sprintf("meter with %s, intake at 1,000 a second, 99 in 100 within (%s ms)", p.name, number(medians.ours*1000)),
		fmt.Sprintf("a bare XADD (%s ms)", number(medians.limit*1000)), ratio, 10, "×")
	return nil
}

// intakeLatency posts events one by one.
func (p *meterPlant) intakeLatency(ctx context.Context, address string) (_ float64, err error) {
	const posters = 64
	in, err := dial(address, posters)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	idle := make(chan *client, len(in))
	for _, c := range in {
		idle <- c
	}
	return latency(ctx, func() error {
		e, _ := p.event()
		c := <-idle
		defer func() { idle <- c }()
		return c.usage(e.AppendJSON(nil), "application/json")
	})
}

// xadd adds an event to a stream of its own.
func (p *meterPlant) xadd(ctx context.Context) error {
	e, _ := p.event()
	add := p.client.B().Xadd().Key("bare:{0}:stream:"+strconv.Itoa(meterredis.ShardOf(e.Line))).Id("*").FieldValue().FieldValue("event", string(e.AppendJSON(nil))).Build()
	return p.client.Do(ctx, add).Error()
}

// latency runs work 1,000 times a second, however long each takes, and returns within how many seconds 99 in 100 are done.
func latency(ctx context.Context, work func() error) (float64, error) {
	const calls, every = 3000, time.Millisecond
	took, failures := make([]float64, calls), make(chan error, calls)
	var group sync.WaitGroup
	started := time.Now()
	for i := range calls {
		time.Sleep(time.Until(started.Add(time.Duration(i) * every)))
		group.Go(func() {
			began := time.Now()
			if err := work(); err != nil {
				failures <- err
			}
			took[i] = time.Since(began).Seconds()
		})
	}
	group.Wait()
	select {
	case err := <-failures:
		return 0, err
	default:
	}
	slices.Sort(took)
	return took[calls*99/100], ctx.Err()
}
