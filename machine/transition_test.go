package machine

import (
	"testing"
	"time"
)

// From which states each command of the holder, and a settlement, leads on. All name the revision that the record has.
func TestSourceStates(t *testing.T) {
	t.Parallel()
	situations := []struct {
		name     string
		record   *Record
		revision uint64
		after    time.Duration
	}{
		{"claimed", run(t, testClaim("a"), Acquired), 1, 0},
		{"claimed, lapsed", run(t, testClaim("a"), Acquired), 1, lease},
		{"executing", executingBy(t, "a", Quarantine), 1, 0},
		{"interrupted", executingBy(t, "a", Quarantine), 1, lease},
		{"lapsed under rerun", executingBy(t, "a", Rerun), 1, lease},
		{"completed", completedBy(t, "a"), 2, 0},
		{"expired", completedBy(t, "a"), 2, window},
		{"retryable", failedBy(t, "a", true), 2, 0},
		{"abandoned", failedBy(t, "a", false), 2, 0},
		{"forgotten", run(t, testClaim("a"), Acquired), 1, lease + forgottenAfterLease},
	}
	settle := Settle{Scope: testScope, Operation: idOf("o"), Remember: remember, Who: "w", Why: "y"}
	for _, row := range []struct {
		command func(h Hold) Command
		want    []Outcome // by situation
	}{
		{func(h Hold) Command { return Start{h, lease} },
			[]Outcome{Started, LeaseEnded, AlreadyStarted, LeaseEnded, LeaseEnded, WrongState, WrongState, WrongState, WrongState, NotFound}},
		{func(h Hold) Command { return Renew{h, lease} },
			[]Outcome{Renewed, Renewed, Renewed, Renewed, Renewed, WrongState, WrongState, WrongState, WrongState, NotFound}},
		{func(h Hold) Command { return Complete{h, NewResponse("text/1", nil), window, remember} },
			[]Outcome{WrongState, WrongState, CompletedNow, CompletedNow, CompletedNow, WrongState, WrongState, WrongState, WrongState, NotFound}},
		{func(h Hold) Command { return Fail{Hold: h, NoEffect: true, Remember: remember} },
			[]Outcome{WrongState, WrongState, Failed, Failed, Failed, WrongState, WrongState, WrongState, WrongState, NotFound}},
		{func(h Hold) Command { return Fail{Hold: h} },
			[]Outcome{WrongState, WrongState, Failed, Failed, Failed, WrongState, WrongState, WrongState, WrongState, NotFound}},
		{func(h Hold) Command { return Release{h} },
			[]Outcome{Released, Released, WrongState, WrongState, WrongState, WrongState, WrongState, WrongState, WrongState, AlreadyReleased}},
		{func(h Hold) Command { return edit(settle, func(c *Settle) { c.Revision = h.Revision }) },
			[]Outcome{WrongState, WrongState, WrongState, SettledNow, WrongState, WrongState, WrongState, WrongState, SettledNow, NotFound}},
	} {
		for i, s := range situations {
			try := func(what string, hold Hold, want Outcome) {
				t.Helper()
				command := row.command(hold)
				next, reply := Step(s.record, command, noon.Add(s.after))
				if reply.Outcome != want || (next != s.record) != want.Applied() {
					t.Errorf("%v of %s%s: %v, changed %v; want %v", command.Kind(), what, s.name, reply.Outcome, next != s.record, want)
				}
			}
			hold := testHold("a", s.revision)
			try("", hold, row.want[i])
			if row.command(hold).Kind() == KindSettle || s.name == "forgotten" {
				continue
			}
			hold.Attempt = 2
			try("another attempt, ", hold, NotOwner)
		}
	}
}

// A new record is made from the one bound on, and before the other.
func TestBoundsOfNewRecords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, before time.Duration // after noon
		want         Outcome
	}{
		"from now on":      {0, time.Hour, Acquired},
		"from a bit later": {time.Microsecond, time.Hour, Barred},
		"before now":       {-time.Hour, 0, Barred},
		"a bit longer":     {-time.Hour, time.Microsecond, Acquired},
	} {
		claim := testClaim("a")
		claim.CreateFrom, claim.CreateBefore = InstantOf(noon.Add(c.from)), InstantOf(noon.Add(c.before))
		if next, reply := Step(nil, claim, noon); reply.Outcome != c.want || (next != nil) != (c.want == Acquired) {
			t.Errorf("%s: %v", name, reply.Outcome)
		}
		// A record that is there is not asked for its bounds.
		if _, reply := Step(completedBy(t, "b"), claim, noon); reply.Outcome != Replay {
			t.Errorf("%s, where there is a record: %v", name, reply.Outcome)
		}
	}
}

// A begin that is sent again after its lease, under rerun, has not the key any more: it takes it over like everybody else.
func TestARepeatedBeginAfterItsLease(t *testing.T) {
	t.Parallel()
	record := executingBy(t, "a", Rerun)
	begin := Begin{testClaim("a"), Nonce(idOf("a"))}
	begin.Interruption = Rerun
	if _, reply := Step(record, begin, noon.Add(lease-time.Microsecond)); reply.Outcome != ReplayedAcquire {
		t.Errorf("while the lease is live: %v", reply.Outcome)
	}
	if next, reply := Step(record, begin, noon.Add(lease)); reply.Outcome != Takeable || next != record {
		t.Errorf("after it: %v", reply.Outcome)
	}
}

// Who settled a key, and why, is known for as long as the key is; the evidence of a failure until the key is taken over.
func TestWhatIsKeptOfAFailure(t *testing.T) {
	t.Parallel()
	evidence := NewResponse("text/1", []byte("502"))
	settle := Settle{Scope: testScope, Operation: idOf("o"), Revision: 2, Remember: remember, Who: "ann", Why: "looked", Evidence: "ledger"}
	failed := run(t, Begin{testClaim("a"), Nonce(idOf("a"))}, Acquired, Fail{Hold: testHold("a", 1), Reason: "upstream", Evidence: evidence}, Failed)
	settled, _ := Step(failed, settle, noon)
	again := testClaim("b")
	again.Seen = 3
	taken, _ := Step(settled, again, noon)
	for name, r := range map[string]*Record{"failed": failed, "settled": settled} {
		if !sameResponse(r.Response, evidence) || string(r.Response.Data) != "502" || r.Finished != InstantOf(noon) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	want := Settlement{"ann", "looked", "ledger", InstantOf(noon)}
	if settled.Settlement != want || taken.Settlement != want || taken.Attempt != 2 || !taken.Response.IsZero() {
		t.Errorf("settled %+v, taken over %+v", settled.Settlement, taken)
	}
}
