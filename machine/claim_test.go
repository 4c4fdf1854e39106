package machine

import (
	"testing"
	"time"
)

// The claim table of the design: the first row that fits is the answer. Each row is met by itself, and
// by records that would fit a later row too.
func TestClaimTable(t *testing.T) {
	t.Parallel()
	claimed := run(t, testClaim("a"), Acquired)
	executing, rerun := executingBy(t, "a", Quarantine), executingBy(t, "a", Rerun)
	completed, retryable, abandoned := completedBy(t, "a"), failedBy(t, "a", true), failedBy(t, "a", false)

	another := testClaim("b")
	otherRequest := testClaim("a")
	otherRequest.Fingerprints = requestOf("another request")
	otherOperation := testClaim("a")
	otherOperation.Operation = idOf("another operation")
	older, withoutCodec := testClaim("b"), testClaim("b")
	older.Policy, withoutCodec.Codecs = 2, nil
	seen := func(c Claim, revision uint64) Claim { c.Seen = revision; return c }

	const live, lapsed, windowOver, forgotten = 0, 30 * time.Second, time.Hour, 24 * time.Hour
	for _, row := range []struct {
		name    string
		record  *Record
		after   time.Duration
		claim   Claim
		want    Outcome
		changes bool
	}{
		{"absent", nil, live, another, Acquired, true},
		{"forgotten, completed", completed, forgotten, another, Acquired, true},
		{"forgotten, retryable", retryable, forgotten, another, Acquired, true},
		{"forgotten, claimed", claimed, lapsed + 7*24*time.Hour, another, Acquired, true},
		{"forgotten, and another request", completed, forgotten, otherRequest, Acquired, true},
		{"forgotten, and seen otherwise", retryable, forgotten, seen(another, 9), Acquired, true},

		{"another request, claimed", claimed, live, otherRequest, FingerprintMismatch, false},
		{"another request, executing", executing, live, otherRequest, FingerprintMismatch, false},
		{"another request, interrupted", executing, lapsed, otherRequest, FingerprintMismatch, false},
		{"another request, completed", completed, live, otherRequest, FingerprintMismatch, false},
		{"another request, expired", completed, windowOver, otherRequest, FingerprintMismatch, false},
		{"another request, retryable and seen", retryable, live, seen(otherRequest, 2), FingerprintMismatch, false},
		{"another request, abandoned", abandoned, live, otherRequest, FingerprintMismatch, false},

		{"expired", completed, windowOver, another, Gone, false},
		{"expired, codec not readable", completed, windowOver, withoutCodec, Gone, false},
		{"expired, its owner", completed, windowOver, testClaim("a"), Gone, false},
		{"completed", completed, live, another, Replay, false},
		{"completed, its owner", completed, live, testClaim("a"), Replay, false},
		{"completed, its owner's other operation", completed, live, otherOperation, Replay, false},
		{"completed, policy not readable", completed, live, older, ReplayIncompatible, false},
		{"completed, codec not readable", completed, live, withoutCodec, ReplayIncompatible, false},

		{"abandoned", abandoned, live, another, RecoveryRequired, false},
		{"abandoned, its owner", abandoned, live, testClaim("a"), RecoveryRequired, false},
		{"abandoned, and seen", abandoned, live, seen(another, 2), RecoveryRequired, false},
		{"interrupted", executing, lapsed, another, RecoveryRequired, false},
		{"interrupted, its owner's other operation", executing, lapsed, otherOperation, RecoveryRequired, false},
		{"interrupted, and seen", executing, lapsed, seen(another, 1), RecoveryRequired, false},

		{"claimed, same owner and operation", claimed, live, testClaim("a"), ReplayedAcquire, false},
		{"claimed, same owner, other operation", claimed, live, otherOperation, OwnerConflict, false},
		{"claimed and lapsed, same owner, other operation", claimed, lapsed, otherOperation, OwnerConflict, false},
		{"executing, same owner, other operation", executing, live, otherOperation, OwnerConflict, false},
		{"executing and lapsed under rerun, same owner, other operation, seen", rerun, lapsed, seen(otherOperation, 1), OwnerConflict, false},

		{"retryable, not seen", retryable, live, another, Takeable, false},
		{"retryable, seen before", retryable, live, seen(another, 1), Takeable, false},
		{"claimed and lapsed, not seen", claimed, lapsed, another, Takeable, false},
		{"claimed and lapsed, its owner", claimed, lapsed, testClaim("a"), Takeable, false},
		{"lapsed under rerun, not seen", rerun, lapsed, another, Takeable, false},
		{"lapsed under rerun, its owner", rerun, lapsed, testClaim("a"), Takeable, false},
		{"retryable, seen", retryable, live, seen(another, 2), TakenOver, true},
		{"retryable, seen by who had it", retryable, live, seen(testClaim("a"), 2), TakenOver, true},
		{"claimed and lapsed, seen", claimed, lapsed, seen(another, 1), TakenOver, true},
		{"lapsed under rerun, seen", rerun, lapsed, seen(another, 1), TakenOver, true},

		{"claimed, live", claimed, live, another, InProgress, false},
		{"claimed, live, seen", claimed, live, seen(another, 1), InProgress, false},
		{"executing, live", executing, live, another, InProgress, false},
		{"executing, its owner: no right to run", executing, live, testClaim("a"), InProgress, false},
	} {
		next, reply := Step(row.record, row.claim, noon.Add(row.after))
		if reply.Outcome != row.want {
			t.Errorf("%s: %v, want %v", row.name, reply.Outcome, row.want)
		}
		if changed := next != row.record; changed != row.changes {
			t.Errorf("%s: changed %v", row.name, changed)
		}
	}
}

func TestTakeoverIsANewTenure(t *testing.T) {
	t.Parallel()
	before := failedBy(t, "a", true)
	c := testClaim("b")
	c.Seen = before.Revision
	after, reply := Step(before, c, noon)
	if reply.From != Retryable || reply.Attempt != 2 || reply.Revision != before.Revision+1 || !reply.Yours {
		t.Errorf("reply %+v", reply)
	}
	if after.State != Claimed || after.Owner != c.Owner.Digest() || !after.Nonce.IsZero() || !after.RememberUntil.IsZero() || !after.Response.IsZero() {
		t.Errorf("record %+v", after)
	}
}

func TestMismatchTellsNothing(t *testing.T) {
	t.Parallel()
	c := testClaim("b")
	c.Fingerprints = requestOf("another request")
	_, reply := Step(completedBy(t, "a"), c, noon)
	if want := (Reply{Outcome: FingerprintMismatch, At: InstantOf(noon)}); !equal(reply, want) {
		t.Errorf("told %+v", reply)
	}
}

func TestReplayCarriesTheAnswer(t *testing.T) {
	t.Parallel()
	record := completedBy(t, "a")
	_, reply := Step(record, testClaim("b"), noon)
	if string(reply.Response.Data) != "answer" || reply.WindowEnd != InstantOf(noon.Add(time.Hour)) || reply.Finished != InstantOf(noon) {
		t.Errorf("told %+v", reply)
	}
	c := testClaim("b")
	c.Codecs = []string{"http/1"}
	if _, reply := Step(record, c, noon); !reply.Response.IsZero() || reply.Reason != "codec text/1" {
		t.Errorf("an answer that is not readable: %+v", reply)
	}
}

// A request that was fingerprinted by newer rules brings the older fingerprints along.
func TestFingerprintsOfSeveralVersions(t *testing.T) {
	t.Parallel()
	record := completedBy(t, "a")
	newer := Fingerprint{Version: 2, Sum: Digest{2}}
	for _, tc := range []struct {
		fingerprints []Fingerprint
		want         Outcome
	}{
		{append([]Fingerprint{newer}, requestOf("request")...), Replay},
		{append([]Fingerprint{newer}, requestOf("another")...), FingerprintMismatch},
		{[]Fingerprint{newer}, ReplayIncompatible},
		{append(requestOf("request"), newer), Replay},
		{append(requestOf("another"), newer), FingerprintMismatch},
	} {
		c := testClaim("b")
		c.Fingerprints = tc.fingerprints
		if _, reply := Step(record, c, noon); reply.Outcome != tc.want {
			t.Errorf("%v: %v, want %v", tc.fingerprints, reply.Outcome, tc.want)
		}
	}
}
