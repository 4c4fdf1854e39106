package main

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterhttp"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// traffic makes events of lines that it names itself, and sends them.
type traffic struct {
	prefix          string // of all names
	lines, families int
	events          int
	rate            float64 // events a second; 0 is as fast as they are taken
	duplicates      float64 // how many of them are sent again, from 0 to 1
	late            float64 // how many of them happened a day or more ago
	retention       time.Duration
	urls            []string // of processes that serve
	token           string
	halfway         func() // is called in the middle; may be nil

	mu    sync.Mutex
	tally sentTally
}

// sentTally is what became of what was sent.
type sentTally struct {
	Sent, Accepted, Again int64
	Refused               map[meter.Reason]int64
}

// perFamily is how many lines a family has.
const perFamily = 4

// household returns the families, lines and apps. The first lines are in families.
func (t *traffic) household() (families []meterledger.Family, lines []meterledger.Line, apps []string) {
	for i := range t.families {
		families = append(families, meterledger.Family{ID: t.prefix + "family-" + strconv.Itoa(i), Shared: 4_000_000})
	}
	for i := range t.lines {
		l := meterledger.Line{ID: t.line(i), Individual: 1_000_000, QoS: 200_000}
		if i/perFamily < t.families {
			l.Family = t.prefix + "family-" + strconv.Itoa(i/perFamily)
		}
		lines = append(lines, l)
	}
	return families, lines, t.apps()
}

func (t *traffic) line(i int) string { return t.prefix + "line-" + strconv.Itoa(i) }

func (t *traffic) apps() []string {
	return []string{t.prefix + "video", t.prefix + "chat", t.prefix + "maps"}
}

// event makes the nth event.
func (t *traffic) event(n int, run string, now time.Time) meter.Event {
	at := now.Add(-time.Duration(rand.Int64N(int64(min(time.Hour, t.retention/2)))))
	if rand.Float64() < t.late {
		at = now.Add(-time.Duration(rand.Int64N(int64(t.retention / 2)))).Add(-t.retention / 4)
	}
	return meter.Event{ID: run + "-" + strconv.Itoa(n), Line: t.line(rand.IntN(t.lines)), App: t.apps()[rand.IntN(len(t.apps()))], Bytes: 1 + rand.Int64N(200_000), At: at.Truncate(time.Microsecond)}
}

const (
	trafficBatch  = 200
	trafficAtOnce = 8
)

// send makes all events and sends them, and returns them: each once.
func (t *traffic) send(ctx context.Context) ([]meter.Event, error) {
	run, began := cryptorand.Text(), time.Now()
	t.tally = sentTally{Refused: map[meter.Reason]int64{}}
	all := make([]meter.Event, 0, t.events)
	group, ctx2 := errgroup.WithContext(ctx)
	group.SetLimit(trafficAtOnce)
	for half := false; len(all) < t.events && ctx2.Err() == nil; {
		if !half && len(all) >= t.events/2 {
			if half = true; t.halfway != nil {
				t.halfway()
			}
		}
		var batch []meter.Event
		for len(batch) < trafficBatch && len(all) < t.events {
			e := t.event(len(all), run, time.Now())
			all, batch = append(all, e), append(batch, e)
			if rand.Float64() < t.duplicates {
				batch = append(batch, all[rand.IntN(len(all))])
			}
		}
		t.pace(ctx2, began, len(all))
		group.Go(func() error { return t.deliver(ctx2, batch) })
	}
	return all, group.Wait()
}

// pace waits until so many events are due.
func (t *traffic) pace(ctx context.Context, began time.Time, events int) {
	if t.rate <= 0 {
		return
	}
	due := began.Add(time.Duration(float64(events) / t.rate * float64(time.Second)))
	wait(ctx, time.Until(due))
}

// wait returns after a time, or when ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// deliver sends events until each was accepted or refused. What could not be taken in, or may not have been, is sent again, to the
// next process: that is harmless.
func (t *traffic) deliver(ctx context.Context, events []meter.Event) error {
	for try := rand.IntN(len(t.urls)); len(events) > 0; try++ {
		left, pause, err := t.post(ctx, t.urls[try%len(t.urls)], events)
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.tally.Sent += int64(len(events))
		t.tally.Again += int64(len(left))
		t.mu.Unlock()
		if events = left; len(events) > 0 {
			wait(ctx, pause)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// post sends events once, and returns those that are to be sent again, and after what pause.
func (t *traffic) post(ctx context.Context, url string, events []meter.Event) (left []meter.Event, pause time.Duration, err error) {
	const usual = 200 * time.Millisecond
	var body strings.Builder
	for _, e := range events {
		body.Write(append(e.AppendJSON(nil), '\n'))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/usage", strings.NewReader(body.String()))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Content-Type", "application/x-ndjson")
	if t.token != "" {
		request.Header.Set("Authorization", "Bearer "+t.token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return events, usual, nil // the process may be gone
	}
	defer response.Body.Close()
	switch response.StatusCode {
	case http.StatusAccepted, http.StatusOK:
		return t.results(response.Body, events), usual, nil
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		return events, max(usual, time.Duration(seconds)*time.Second), nil
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	return nil, 0, fmt.Errorf("%s answered %d: %s", url, response.StatusCode, text)
}

// results counts results, and returns the events that are to be sent again.
func (t *traffic) results(body io.Reader, events []meter.Event) (left []meter.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	in := json.NewDecoder(body)
	for _, e := range events {
		var r meterhttp.Result
		switch err := in.Decode(&r); {
		case err != nil: // the answer ended early
			left = append(left, e)
		case r.Accepted:
			t.tally.Accepted++
		case r.Problem != nil && r.Problem.Reason != "":
			t.tally.Refused[r.Problem.Reason]++
		default:
			left = append(left, e)
		}
	}
	return left
}

// drained waits until nothing is under way any more.
func (m *meterParts) drained(ctx context.Context) error {
	streams, err := m.meter.OpenStreams(ctx, m.config.StreamLimit)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		waiting, err := streams.Waiting(ctx)
		if err != nil {
			return err
		}
		inbox, _, err := m.ledger.CountInbox(ctx)
		if err != nil || waiting+inbox == 0 {
			return err
		}
		wait(ctx, 50*time.Millisecond)
	}
	return context.Cause(ctx)
}

// decided returns how many of some events are in the done log.
func (m *meterParts) decided(ctx context.Context, events []meter.Event) (n int, err error) {
	for from := 0; from < len(events); from += meterledger.MaxBatch {
		part := events[from:min(from+meterledger.MaxBatch, len(events))]
		ids := make([]meterledger.Identity, len(part))
		for i, e := range part {
			ids[i] = meterledger.Identity{Line: e.Line, Event: e.ID}
		}
		found, err := m.ledger.LookupDone(ctx, ids)
		if err != nil {
			return n, err
		}
		n += len(found)
	}
	return n, nil
}

// share reads 5% or 0.05.
func share(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if percent {
		n /= 100
	}
	if err != nil || n < 0 || n > 1 {
		return 0, usageError{errors.New("--" + flag + ": write a share such as 5%")}
	}
	return n, nil
}
