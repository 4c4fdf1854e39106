package explore

import (
	"os"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// proof is a setting with the bounds of a short proof, and those of a thorough one.
type proof struct {
	name string
	Setting
	deep Bounds
}

var (
	two   = []Caller{{}, {}}
	three = []Caller{{}, {}, {}}
	// late claim first, and start before the part which cannot be undone.
	late = []Caller{{Late: true}, {Late: true}}
	// twins share an owner token, as when an attempt is resumed while its first process still lives.
	twins      = []Caller{{}, {Resumes: true}}
	lateTwins  = []Caller{{Late: true}, {Late: true, Resumes: true}}
	mixedTwins = []Caller{{Late: true}, {Resumes: true}}
	// other sends another request under the same key.
	other = []Caller{{}, {Other: true}}
)

func proofs() []proof {
	return []proof{
		{"quarantine", Setting{Callers: two, Bounds: Bounds{Ticks: 3, Lost: 1, Settles: 1}},
			Bounds{Ticks: 6, Lost: 2, Settles: 1}},
		{"quarantine, repeats", Setting{Callers: two, Bounds: Bounds{Ticks: 3, Repeats: 1}},
			Bounds{Ticks: 4, Lost: 2, Repeats: 1}},
		{"quarantine, three callers", Setting{Callers: three, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 4, Lost: 1}},
		{"rerun", Setting{Callers: two, Rerun: true, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 6, Lost: 2}},
		{"rerun, three callers", Setting{Callers: three, Rerun: true, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 3, Lost: 1}},
		{"waiting", Setting{Callers: two, Wait: 4, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 2}},
		{"waiting and leaving", Setting{Callers: two, Wait: 3, Bounds: Bounds{Ticks: 3, Lost: 1, Leaves: 1}},
			Bounds{Ticks: 4, Lost: 2, Leaves: 2}},
		{"late start", Setting{Callers: late, Bounds: Bounds{Ticks: 2, Lost: 1}},
			Bounds{Ticks: 5, Lost: 1, Settles: 1}},
		{"late start, rerun and waiting", Setting{Callers: late, Rerun: true, Wait: 3, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 4, Lost: 1}},
		{"twins", Setting{Callers: twins, Rerun: true, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 2}},
		{"late twins", Setting{Callers: lateTwins, Bounds: Bounds{Ticks: 2}},
			Bounds{Ticks: 3, Lost: 1}},
		{"twins, one late", Setting{Callers: mixedTwins, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 4, Lost: 1}},
		{"another request", Setting{Callers: other, Wait: 3, Bounds: Bounds{Ticks: 3, Lost: 1, Settles: 1}},
			Bounds{Ticks: 6, Lost: 2, Settles: 1}},
		{"two secrets", Setting{Callers: two, Rotate: 2, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 2}},
		{"two secrets, waiting, rerun", Setting{Callers: two, Rotate: 2, Wait: 3, Rerun: true, Bounds: Bounds{Ticks: 4}},
			Bounds{Ticks: 5, Lost: 1}},
		{"windows end", Setting{Callers: two, Wait: 2, Window: 1, Retryable: 1, Sweeps: true, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 4, Lost: 2}},
		{"data is lost", Setting{Callers: two, Loses: true, Bounds: Bounds{Ticks: 2, Lost: 1}},
			Bounds{Ticks: 4, Lost: 2}},
	}
}

// limit keeps a proof within memory.
const limit = 60_000_000

// Every world of every setting keeps the promises. REPRISE_PROVE=1 goes further, for some minutes.
func TestProof(t *testing.T) {
	t.Parallel()
	var seen reached
	t.Cleanup(func() { seen.check(t) })
	for _, p := range proofs() {
		if os.Getenv("REPRISE_PROVE") != "" {
			p.Bounds = p.deep
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(p.Setting, machine.Step, limit)
			if err != nil {
				t.Fatal(err)
			}
			seen.add(report)
			t.Logf("%d worlds, %d events, up to %d from the beginning; bounds %+v", report.Worlds, report.Events, report.Depth, p.Bounds)
		})
	}
}

// reached is what callers were told and what the machine answered, in all proofs together: a proof that
// never gets somewhere says nothing about it.
type reached struct {
	mu       sync.Mutex
	proofs   int
	verdicts [32]bool
	outcomes [128]bool
}

func (r *reached) add(report Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proofs++
	for v := range report.Verdicts {
		r.verdicts[v] = true
	}
	for o := range report.Outcomes {
		r.outcomes[o] = true
	}
}

func (r *reached) check(t *testing.T) {
	if r.proofs < len(proofs()) {
		return // some failed, or were not asked for
	}
	for _, v := range []flow.Verdict{flow.Recorded, flow.Unconfirmed, flow.Replayed, flow.Mismatch, flow.Gone, flow.InProgress,
		flow.Unknown, flow.Unavailable, flow.Lost, flow.Corrupt, flow.Left} {
		if !r.verdicts[v] {
			t.Errorf("nobody was told verdict %d in any world", v)
		}
	}
	for _, o := range []machine.Outcome{machine.Acquired, machine.TakenOver, machine.ReplayedAcquire, machine.FingerprintMismatch,
		machine.Gone, machine.Replay, machine.RecoveryRequired, machine.Takeable, machine.InProgress, machine.Barred,
		machine.Started, machine.Renewed, machine.CompletedNow, machine.Failed, machine.Released, machine.SettledNow,
		machine.AlreadyStarted, machine.AlreadyRenewed, machine.AlreadyCompleted, machine.AlreadyFailed, machine.AlreadyReleased,
		machine.NotFound, machine.NotOwner, machine.Stale, machine.WrongState, machine.LeaseEnded, machine.Found, machine.Forgotten} {
		if !r.outcomes[o] {
			t.Errorf("the machine never answered %v", o)
		}
	}
}

// Where nothing fails, nothing is late and every action knows what it did, nobody is told "unknown".
func TestNothingIsUnknownWithoutFaults(t *testing.T) {
	t.Parallel()
	for _, callers := range [][]Caller{three, late} {
		report, err := Explore(Setting{Callers: callers, Wait: 1, Certain: true, Bounds: Bounds{Ticks: 1}}, machine.Step, limit)
		if err != nil {
			t.Fatal(err)
		}
		for v, n := range report.Verdicts {
			if v != flow.Recorded && v != flow.Replayed && v != flow.InProgress {
				t.Errorf("%d callers were told verdict %d", n, v)
			}
		}
	}
}
