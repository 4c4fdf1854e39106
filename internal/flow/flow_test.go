package flow

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

const (
	whole = 30 * time.Second // what is left of a lease that was just taken
	none  = time.Duration(0)

	claimed, executing, abandoned = machine.Claimed, machine.Executing, machine.Abandoned
)

func withLate(c *Config)    { c.Late = true }
func withRerun(c *Config)   { c.Rerun = true }
func withWait(c *Config)    { c.Wait = 40 * time.Second }
func withSecrets(c *Config) { c.Candidates = 2 }

// run are the first steps of an invocation whose action runs from the beginning.
var run = []step{
	{0, begins, "send acquire"},
	{0, replies(machine.Acquired, 1, executing, whole), "run for 10s"},
}

func after(first []step, more ...step) []step { return append(first[:len(first):len(first)], more...) }

func TestAcquiring(t *testing.T) {
	playAll(t, []scenario{
		{"the fast path", nil, after(run,
			step{1, ends(Answered), "send complete revision 1"},
			step{1, replies(machine.CompletedNow, 2, machine.Completed, none), "tell recorded, stop"},
		)},
		{"a begin without a reply is settled by sending it again", nil, []step{
			{0, begins, "send acquire"},
			{2, fails(MaybeApplied), "send acquire again"},
			{3, replies(machine.ReplayedAcquire, 1, executing, 28*time.Second), "run for 7s"},
		}},
		{"a begin that was certainly not applied is not worth waiting for", nil, []step{
			{0, begins, "send acquire"},
			{2, fails(NotApplied), "tell unavailable, stop"},
		}},
		{"a begin in doubt is taken back when patience ends", nil, []step{
			{0, begins, "send acquire"},
			{2, fails(MaybeApplied), "send acquire again"},
			{6, fails(NotApplied), "tell unavailable, send inspect"},
			{7, finds(&machine.Record{State: executing, Nonce: machine.Nonce{1}, Attempt: 1, Revision: 1}), "send withdraw revision 1"},
			{7, fails(MaybeApplied), "send withdraw revision 1 again"},
			{8, replies(machine.AlreadyFailed, 2, machine.Retryable, none), "stop"},
		}},
		{"a begin in doubt that did not arrive leaves another's record alone", nil, []step{
			{0, begins, "send acquire"},
			{6, fails(MaybeApplied), "tell unavailable, send inspect"},
			{7, finds(&machine.Record{State: executing, Nonce: machine.Nonce{2}, Attempt: 1, Revision: 1}), "stop"},
		}},
		{"a reply that leaves too little of the lease", nil, []step{
			{0, begins, "send acquire"},
			{24, replies(machine.Acquired, 1, executing, whole), "tell unavailable, send withdraw revision 1"},
			{24, replies(machine.Failed, 2, machine.Retryable, none), "stop"},
		}},
		{"its own begin was interrupted before the reply came: nothing ran", nil, []step{
			{0, begins, "send acquire"},
			{2, fails(MaybeApplied), "send acquire again"},
			{5, replies(machine.RecoveryRequired, 1, abandoned, none), "tell unavailable, send withdraw revision 1"},
		}},
		{"another's was interrupted", nil, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.RecoveryRequired, 1), "tell unknown, stop"},
		}},
		{"a takeover names the revision that was seen", nil, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.Takeable, 4), "send acquire seen 4"},
			{0, refuses(machine.Takeable, 6), "send acquire seen 6"},
			{0, replies(machine.TakenOver, 7, executing, whole), "run for 10s"},
		}},
		{"the key was used for another request", nil, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.FingerprintMismatch, 0), "tell mismatch, stop"},
		}},
		{"the data is lost", nil, []step{
			{0, begins, "send acquire"},
			{0, fails(DataLost), "tell lost, stop"},
		}},
		{"a duplicate waits, then claims again", withWait, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.InProgress, 1), "wait for 20s"},
			{20, wakes, "send acquire"},
			{20, refuses(machine.InProgress, 2), "wait for 20s"},
			{40, wakes, "send acquire"},
			{40, refuses(machine.InProgress, 3), "tell in progress, stop"},
		}},
	})
}

func TestLeaseIsAsLongAsTheReplySays(t *testing.T) {
	playAll(t, []scenario{
		{"an attempt that is resumed", withLate, []step{
			{0, begins, "send acquire"},
			{0, replies(machine.ReplayedAcquire, 1, claimed, 12*time.Second), "run"},
			{11, beats, "send renew revision 1 for 1s"},
			{12, beatFails(MaybeApplied), "go on"},
			{12, beats, "cancel"},
		}},
		{"a start that is made a second time", withLate, []step{
			{0, begins, "send acquire"},
			{0, replies(machine.Acquired, 1, claimed, whole), "run for 10s"},
			{0, startsLate, "send start revision 1"},
			{6, fails(MaybeApplied), "cancel"},
			{12, startsLate, "send start revision 1"},
			{12, replies(machine.AlreadyStarted, 2, executing, 18*time.Second), "run"},
			{30, beats, "cancel"},
		}},
		{"a renewal that another made", withLate, []step{
			{0, begins, "send acquire"},
			{0, replies(machine.ReplayedAcquire, 1, claimed, 20*time.Second), "run"},
			{10, beats, "send renew revision 1 for 10s"},
			{10, beatReplies(machine.AlreadyRenewed, 2, 21*time.Second), "go on for 1s"},
			{31, beats, "cancel"},
		}},
	})
}

func TestHeartbeat(t *testing.T) {
	playAll(t, []scenario{
		{"renews at a third", nil, after(run,
			step{9, beats, "go on for 1s"},
			step{10, beats, "send renew revision 1 for 20s"},
			step{11, beatReplies(machine.Renewed, 2, whole), "go on for 9s"},
			step{20, beats, "send renew revision 2 for 20s"},
		)},
		{"a renewal is lost, a later one is stale, and its revision is taken on", nil, after(run,
			step{10, beats, "send renew revision 1 for 20s"},
			step{12, beatFails(MaybeApplied), "go on for 1.5s"},
			step{13.5, beats, "send renew revision 1 for 16.5s"},
			step{13.5, beatReplies(machine.Stale, 2, whole), "go on"},
			step{13.5, beats, "send renew revision 2 for 16.5s"},
			step{14, ends(Answered), "send complete revision 2"},
		)},
		{"a renewal is lost, and the completion finds out", nil, after(run,
			step{10, beats, "send renew revision 1 for 20s"},
			step{11, beatFails(MaybeApplied), "go on for 1.5s"},
			step{11, ends(Answered), "send complete revision 1"},
			step{11, replies(machine.Stale, 2, executing, whole), "send complete revision 2"},
			step{11, replies(machine.CompletedNow, 3, machine.Completed, none), "tell recorded, stop"},
		)},
		{"the lease cannot be shown to be held", nil, after(run,
			step{28, beats, "send renew revision 1 for 2s"},
			step{29, beatFails(NotApplied), "go on for 1s"},
			step{30, beats, "cancel"},
			step{31, ends(Answered), "send complete revision 1"},
			step{31, replies(machine.CompletedNow, 2, machine.Completed, none), "tell recorded, stop"},
		)},
		{"somebody else holds the key", nil, after(run,
			step{10, beats, "send renew revision 1 for 20s"},
			step{10, func(f *Flow, now time.Duration) Directive {
				return f.BeatReplied(now, machine.Reply{Outcome: machine.NotOwner})
			}, "cancel"},
			step{11, beats, "stop"},
		)},
	})
}

func TestLateStart(t *testing.T) {
	begun := []step{
		{0, begins, "send acquire"},
		{0, replies(machine.Acquired, 1, claimed, whole), "run for 10s"},
	}
	playAll(t, []scenario{
		{"started, then answered", withLate, after(begun,
			step{2, startsLate, "send start revision 1"},
			step{2, replies(machine.Started, 2, executing, whole), "run for 10s"},
			step{3, ends(Answered), "send complete revision 2"},
		)},
		{"ended before it was started", withLate, after(begun,
			step{2, ends(Doubtful), "send release revision 1"},
			step{2, replies(machine.Released, 0, machine.Absent, none), "tell recorded, stop"},
		)},
		{"the start arrived and the action was told that it did not", withLate, after(begun,
			step{2, startsLate, "send start revision 1"},
			step{8, fails(MaybeApplied), "cancel"},
			step{8, ends(Doubtful), "send release revision 1"},
			step{8, replies(machine.Stale, 2, executing, 24*time.Second), "send release revision 2"},
			step{8, replies(machine.WrongState, 2, executing, 24*time.Second), "send withdraw revision 2"},
			step{8, replies(machine.Failed, 3, machine.Retryable, none), "tell recorded, stop"},
		)},
		{"answered, and the start is not confirmed: somebody else may run", withLate, after(begun,
			step{2, ends(Answered), "send start revision 1"},
			step{3, fails(MaybeApplied), "send start revision 1 again"},
			step{8, fails(NotApplied), "tell unknown, send start revision 1 again"},
			step{40, refuses(machine.NotOwner, 4), "stop"},
		)},
	})
}

func TestRecording(t *testing.T) {
	playAll(t, []scenario{
		{"not confirmed in time: told, and gone on with", nil, after(run,
			step{1, ends(Answered), "send complete revision 1"},
			step{3, fails(MaybeApplied), "send complete revision 1 again"},
			step{7, fails(MaybeApplied), "tell unconfirmed, send complete revision 1 again"},
			step{90, replies(machine.AlreadyCompleted, 2, machine.Completed, none), "stop"},
		)},
		{"not confirmed in time, under rerun: another answer is possible", withRerun, after(run,
			step{1, ends(Answered), "send complete revision 1"},
			step{7, fails(MaybeApplied), "tell unknown, send complete revision 1 again"},
		)},
		{"refused as the owner: the record's answer, never its own", nil, after(run,
			step{50, ends(Answered), "send complete revision 1"},
			step{50, refuses(machine.NotOwner, 3), "send ask"},
			step{51, fails(MaybeApplied), "send ask again"},
			step{51, refuses(machine.Replay, 3), "tell replayed, stop"},
		)},
		{"refused as the owner, and there is no answer", nil, after(run,
			step{50, ends(Answered), "send complete revision 1"},
			step{50, refuses(machine.NotOwner, 3), "send ask"},
			step{51, refuses(machine.InProgress, 3), "tell unknown, stop"},
		)},
		{"in doubt", nil, after(run,
			step{1, ends(Doubtful), "send fail revision 1"},
			step{1, replies(machine.Failed, 2, abandoned, none), "tell recorded, stop"},
		)},
	})
}

func TestTwoSecrets(t *testing.T) {
	playAll(t, []scenario{
		{"the older one first", withSecrets, []step{
			{0, begins, "send acquire"},
			{0, replies(machine.Acquired, 1, executing, whole), "run for 10s"},
		}},
		{"the newer one once the older makes no records", withSecrets, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.Barred, 0), "send acquire under candidate 1"},
			{0, replies(machine.Acquired, 1, executing, whole), "run for 10s"},
		}},
		{"after a wait, the older one first again", func(c *Config) { withSecrets(c); withWait(c) }, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.Barred, 0), "send acquire under candidate 1"},
			{0, refuses(machine.InProgress, 1), "wait for 20s"},
			{5, wakes, "send acquire"},
			{5, refuses(machine.Barred, 0), "send acquire under candidate 1"},
		}},
		{"neither", withSecrets, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.Barred, 0), "send acquire under candidate 1"},
			{0, refuses(machine.Barred, 0), "tell outdated, stop"},
		}},
	})
}

func TestLeaving(t *testing.T) {
	playAll(t, []scenario{
		{"while it waits", withWait, []step{
			{0, begins, "send acquire"},
			{0, refuses(machine.InProgress, 1), "wait for 20s"},
			{3, leaves, "tell left, stop"},
		}},
		{"while in doubt: what may have arrived is taken back", nil, []step{
			{0, begins, "send acquire"},
			{1, fails(MaybeApplied), "send acquire again"},
			{1, leaves, "tell left, send inspect"},
			{2, fails(NotApplied), "send inspect again"},
			{3, finds(&machine.Record{State: executing, Nonce: machine.Nonce{1}, Attempt: 1, Revision: 1}), "send withdraw revision 1"},
			{3, replies(machine.Failed, 2, machine.Retryable, none), "stop"},
		}},
		{"while in doubt, with a late start", withLate, []step{
			{0, begins, "send acquire"},
			{1, fails(MaybeApplied), "send acquire again"},
			{1, leaves, "tell left, send inspect"},
			{2, finds(&machine.Record{State: claimed, Attempt: 1, Revision: 1}), "send release revision 1"},
			{2, replies(machine.Released, 0, machine.Absent, none), "stop"},
		}},
		{"after the action began: too late", nil, after(run,
			step{1, leaves, "stop"},
			step{1, ends(Answered), "send complete revision 1"},
		)},
	})
}
