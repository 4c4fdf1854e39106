package restore

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// finder is a plan whose verification of the first target finds more.
type finder struct {
	*toy
	more []Finding
}

func (f *finder) Verify(ctx context.Context, t Target, fence Fence) (Done, []Finding, error) {
	done, found, err := f.toy.Verify(ctx, t, fence)
	if err == nil && f.in(t)[0] == f.units[0] {
		found = append(found, f.more...)
	}
	return done, found, err
}

// What is found comes from a system that may hold anything: names that are no text, values of any length, and very much of it. All of it is
// kept, and none of it holds a session up.
func testStrangeFindings(t *testing.T, s server) {
	for name, more := range map[string][]Finding{
		"no text": {{Kind: "key", Item: "a\x00b\xff", Outcome: Waiting, Detail: "is \x00\xff"}},
		"long":    {{Kind: "key", Item: "a", Outcome: Waiting, Detail: strings.Repeat("ä", 1<<20)}},
		"many":    many(100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s)
			p, sessions := &finder{newToy("toy", 35, 10), more}, w.sessions()
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			r := New(sessions, p, options("one"))
			v, _, err := r.Start(ctx, Request{Who: "ann", Why: "test"})
			w.must(err)
			done, err := r.Work(ctx)
			if err != nil || done.State != Finished {
				t.Fatalf("%+v, %v", done, err)
			}
			all, err := sessions.Findings(t.Context(), v.ID, 0, len(more)+1)
			if err != nil || len(all) != len(more) {
				t.Errorf("%d findings were kept, %v", len(all), err)
			}
		})
	}
}

// many are as many findings as a sweep reports at once.
func many(n int) (all []Finding) {
	for i := range n {
		all = append(all, Finding{Kind: "key", Item: fmt.Sprintf("daily_total_usage:{0001}:line-%d:20261201", i), Outcome: Waiting, Detail: strings.Repeat("x", 150)})
	}
	return all
}

// What was found in a life of the data that was lost is of that life: nothing of it is corrected, undone, or counted in the next one.
func testFindingsOfALostLife(t *testing.T, s server) {
	w := newWorld(t, s)
	for name, c := range map[string]struct {
		call      string // the first one after something was found
		wrong     string // in the next life
		corrected int64  // in both
		round     int
	}{
		"lost before it was corrected": {"correct", "", 0, 4},
		"lost after it was corrected":  {"verify", "", 1, 4},
		"wrong again":                  {"verify", "u00003", 2, 5},
	} {
		p := newToy(name, 12, 4)
		p.wrong = "u00003"
		verified, lost := 0, false
		p.fail = func(call string) error {
			if call == "verify" {
				verified++
			}
			if call == c.call && verified >= 3 && !lost && (call != "verify" || verified > 3) {
				lost = true
				p.target.wipe()
				p.target.mu.Lock()
				p.wrong = c.wrong
				p.target.mu.Unlock()
			}
			return nil
		}
		r := w.runner(p, "one")
		w.start(r)
		v := w.work(r)
		w.restored(p, v)
		found, err := w.sessions().Findings(t.Context(), v.ID, 0, 10)
		w.must(err)
		corrected := int64(0)
		for _, f := range found {
			if f.Outcome == Corrected {
				corrected++
			}
		}
		if v.Losses != 1 || v.Round != c.round || corrected != c.corrected {
			t.Errorf("%s: lost %d times, round %d, found %+v", name, v.Losses, v.Round, found)
		}
		if paused := w.events(v, EventPaused); len(paused) > 0 {
			t.Errorf("%s: %v", name, paused)
		}
		undone, left, err := r.Undo(t.Context(), v.ID, func(Finding) {})
		if want := map[bool]int64{true: 1}[c.wrong != ""]; err != nil || undone != want || left != 0 {
			t.Errorf("%s: undone %d, left %d, %v", name, undone, left, err)
		}
	}
}
