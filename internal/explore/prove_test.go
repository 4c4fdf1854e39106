package explore

import (
	"os"
	"testing"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// proof is a setting with the bounds of a short and of a thorough proof.
type proof struct {
	name string
	Setting
	deep    Bounds
	reaches []flow.Verdict // that callers are told, among others: a proof that never gets there proves nothing
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
		{"quarantine", Setting{Callers: two, Bounds: Bounds{Ticks: 4, Lost: 1, Settles: 1}},
			Bounds{Ticks: 6, Lost: 2, Settles: 1},
			[]flow.Verdict{flow.Recorded, flow.Unconfirmed, flow.Replayed, flow.InProgress, flow.Unknown, flow.Unavailable}},
		{"quarantine, repeats", Setting{Callers: two, Bounds: Bounds{Ticks: 3, Repeats: 1}},
			Bounds{Ticks: 4, Lost: 2, Repeats: 1}, nil},
		{"quarantine, three callers", Setting{Callers: three, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 4, Lost: 1}, nil},
		{"rerun", Setting{Callers: two, Rerun: true, Bounds: Bounds{Ticks: 4, Lost: 1}},
			Bounds{Ticks: 6, Lost: 2}, []flow.Verdict{flow.Recorded, flow.Replayed, flow.Unknown}},
		{"rerun, three callers", Setting{Callers: three, Rerun: true, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 4, Lost: 1}, nil},
		{"waiting", Setting{Callers: two, Wait: 4, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 2}, []flow.Verdict{flow.Replayed}},
		{"waiting and leaving", Setting{Callers: two, Wait: 3, Bounds: Bounds{Ticks: 3, Lost: 1, Leaves: 1}},
			Bounds{Ticks: 4, Lost: 2, Leaves: 2}, []flow.Verdict{flow.Left}},
		{"late start", Setting{Callers: late, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 1, Settles: 1}, nil},
		{"late start, rerun and waiting", Setting{Callers: late, Rerun: true, Wait: 3, Bounds: Bounds{Ticks: 4}},
			Bounds{Ticks: 4, Lost: 1}, nil},
		{"twins", Setting{Callers: twins, Rerun: true, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 2}, nil},
		{"late twins", Setting{Callers: lateTwins, Bounds: Bounds{Ticks: 3}},
			Bounds{Ticks: 3, Lost: 1}, nil},
		{"twins, one late", Setting{Callers: mixedTwins, Bounds: Bounds{Ticks: 4}},
			Bounds{Ticks: 4, Lost: 1}, nil},
		{"another request", Setting{Callers: other, Wait: 3, Bounds: Bounds{Ticks: 4, Lost: 1, Settles: 1}},
			Bounds{Ticks: 6, Lost: 2, Settles: 1}, []flow.Verdict{flow.Mismatch}},
		{"two secrets", Setting{Callers: two, Rotate: 2, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 5, Lost: 2}, nil},
		{"two secrets, waiting, rerun", Setting{Callers: two, Rotate: 2, Wait: 3, Rerun: true, Bounds: Bounds{Ticks: 4}},
			Bounds{Ticks: 5, Lost: 1}, nil},
		{"windows end", Setting{Callers: two, Wait: 2, Window: 1, Retryable: 1, Sweeps: true, Bounds: Bounds{Ticks: 3, Lost: 1}},
			Bounds{Ticks: 4, Lost: 2}, []flow.Verdict{flow.Gone}},
		{"data is lost", Setting{Callers: two, Loses: true, Bounds: Bounds{Ticks: 2, Lost: 1}},
			Bounds{Ticks: 4, Lost: 2}, []flow.Verdict{flow.Lost, flow.Corrupt}},
	}
}

// limit keeps a proof within memory.
const limit = 60_000_000

func TestProof(t *testing.T) {
	t.Parallel()
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
			t.Logf("%d worlds, %d events, up to %d from the beginning; bounds %+v", report.Worlds, report.Events, report.Depth, p.Bounds)
			for _, v := range p.reaches {
				if report.Verdicts[v] == 0 {
					t.Errorf("no caller was told verdict %d in any world", v)
				}
			}
		})
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
