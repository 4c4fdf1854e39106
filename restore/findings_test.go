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
