package machine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func equal(a, b any) bool { return cmp.Equal(a, b) }

func TestJudge(t *testing.T) {
	t.Parallel()
	claimed := run(t, testClaim("a"), Acquired)
	executing, rerun := executingBy(t, "a", Quarantine), executingBy(t, "a", Rerun)
	completed, retryable, abandoned := completedBy(t, "a"), failedBy(t, "a", true), failedBy(t, "a", false)
	finite := func(r Record) *Record {
		r.WindowEnd, r.RememberUntil = r.Claimed, r.Claimed
		return &r
	}
	const step, ever = time.Microsecond, 200 * 365 * 24 * time.Hour
	for _, tc := range []struct {
		name   string
		record *Record
		after  time.Duration
		want   State
		reason string
	}{
		{"absent", nil, 0, Absent, ""},
		{"claimed", claimed, lease - step, Claimed, ""},
		{"claimed, lease over", claimed, lease, Claimed, ""},
		{"claimed, last moment", claimed, lease + forgottenAfterLease - step, Claimed, ""},
		{"claimed, forgotten", claimed, lease + forgottenAfterLease, Absent, ""},
		{"executing", executing, lease - step, Executing, ""},
		{"interrupted", executing, lease, Abandoned, ReasonInterrupted},
		{"interrupted, for ever", executing, ever, Abandoned, ReasonInterrupted},
		{"lapsed under rerun", rerun, lease, Executing, ""},
		{"lapsed under rerun, for ever", rerun, ever, Executing, ""},
		{"completed", completed, window - step, Completed, ""},
		{"expired", completed, window, Expired, ""},
		{"expired, last moment", completed, remember - step, Expired, ""},
		{"completed, forgotten", completed, remember, Absent, ""},
		{"retryable", retryable, remember - step, Retryable, "upstream"},
		{"retryable, forgotten", retryable, remember, Absent, ""},
		{"abandoned, for ever", abandoned, ever, Abandoned, "upstream"},
		// Where a time is in the record all the same, what is unfinished has none.
		{"executing, with an end", finite(*rerun), ever, Executing, ""},
		{"abandoned, with an end", finite(*abandoned), ever, Abandoned, "upstream"},
	} {
		state, reason := tc.record.Judge(InstantOf(noon.Add(tc.after)))
		if state != tc.want || reason != tc.reason {
			t.Errorf("%s: %v %q, want %v %q", tc.name, state, reason, tc.want, tc.reason)
		}
		_, inspected := Step(tc.record, Inspect{testScope}, noon.Add(tc.after))
		if inspected.State != tc.want {
			t.Errorf("%s: inspected as %v", tc.name, inspected.State)
		}
	}
}

func TestInstantsAreMicroseconds(t *testing.T) {
	t.Parallel()
	at := InstantOf(time.Date(2026, 3, 1, 13, 0, 0, 1999, time.FixedZone("", 3600)))
	if at.String() != "2026-03-01T12:00:00.000001Z" {
		t.Errorf("read as %v", at)
	}
	if got := at.Add(2999 * time.Nanosecond); got.Sub(at) != 2*time.Microsecond {
		t.Errorf("2999ns later is %v later", got.Sub(at))
	}
	if !Instant(0).IsZero() || Instant(0).String() != "-" {
		t.Error("zero is not unset")
	}
	if got := InstantOf(at.Time()); got != at {
		t.Errorf("there and back: %v", got)
	}
}

func TestNamesAreRead(t *testing.T) {
	t.Parallel()
	for state := range Expired + 1 {
		if got, ok := ParseState(state.String()); !ok || got != state {
			t.Errorf("%v is read as %v", state, got)
		}
	}
	if _, ok := ParseState("invalid"); ok || State(99).String() != "invalid" || Kind(99).String() != "invalid" || Outcome(99).String() != "unknown" {
		t.Error("what has no name has one")
	}
	if got, err := ParseDigest(testScope.Digest.String()); err != nil || got != testScope.Digest {
		t.Errorf("a digest is read as %v, %v", got, err)
	}
	for _, bad := range []string{"", "xy", testScope.Digest.String() + "00", "zz" + testScope.Digest.String()[2:]} {
		if _, err := ParseDigest(bad); err == nil {
			t.Errorf("%q is a digest", bad)
		}
	}
}
