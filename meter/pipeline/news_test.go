package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// A trouble is told when it begins, when it is another one, and when it comes back after it was over.
func TestTroublesAreNewsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told bytes.Buffer
		log, n := slog.New(slog.NewTextHandler(&told, nil)), new(news)
		tell := func(what string, err error) (said bool) {
			told.Reset()
			n.tell(t.Context(), log, what, err)
			return told.Len() > 0
		}
		closed := &meter.Refusal{Reason: meter.UnitClosed, Detail: "a line moves"}
		for i, step := range []struct {
			what string
			err  error
			said bool
		}{
			{"read", errors.New("port 1234: connection refused"), true},
			{"read", errors.New("port 4321: connection refused"), false},
			{"grant a", closed, true},
			{"grant b", closed, true},
			{"grant a", &meter.Refusal{Reason: meter.UnitClosed, Detail: "another line moves"}, false},
			{"grant a", fmt.Errorf("grant: %w", io.EOF), true},
			{"grant a", closed, true},
			{"read", errors.New("port 1234: connection refused"), false},
		} {
			if said := tell(step.what, step.err); said != step.said {
				t.Errorf("step %d: said %v", i, said)
			}
		}
		for range 10 { // it goes on
			pause(t.Context(), foldEvery)
			if tell("read", errors.New("port 1: connection refused")) {
				t.Error("what goes on was told again")
			}
		}
		if len(n.heard) != 1 {
			t.Errorf("%d troubles are remembered that are over", len(n.heard)-1)
		}
		pause(t.Context(), quiet+1)
		if !tell("read", errors.New("port 2: connection refused")) {
			t.Error("what came back was not told")
		}
		if n.over("read"); !tell("read", errors.New("port 3: connection refused")) {
			t.Error("what was over was not told")
		}
	})
}

// Grants and events that wait are tried again and again, and told about once.
func TestWhatWaitsIsToldOnce(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 4)
	ctx := t.Context()
	p.must(p.meter.OpenUnit(ctx, "line-1", "", false))
	month := p.calendar.Month(time.Now())
	for _, id := range []string{"first", "second"} {
		_, err := p.ledger.AddGrant(ctx, meter.Grant{ID: id, Kind: meter.TopUp, Line: "line-1", Month: month, Individual: 7})
		p.must(err)
	}
	var told bytes.Buffer
	log := slog.New(slog.NewTextHandler(&told, nil))
	k := p.keeper()
	k.Log = log
	w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory, Log: log})
	e := p.event(1)
	e.Line = "line-1"
	for range 5 {
		_, err := k.Confirm(ctx)
		p.must(err)
		w.waits(ctx, w.record(ctx, []delivery{{text: string(e.AppendJSON(nil))}}))
	}
	for _, what := range []string{"grant first", "grant second", "an event waits"} {
		if n := strings.Count(told.String(), what); n != 1 {
			t.Errorf("%q is told %d times:\n%s", what, n, told.String())
		}
	}
	p.must(p.meter.OpenUnit(ctx, "line-1", "", true))
	if n, err := k.Confirm(ctx); n != 2 || err != nil {
		t.Errorf("%d were confirmed, %v", n, err)
	}
}
