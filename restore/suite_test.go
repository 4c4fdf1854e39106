package restore

import (
	"context"
	"hash/crc32"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// server is one of the two kinds.
type server struct {
	database func(testing.TB) string
	exec     func(database, sql string)
	schema   string // before the name of a table
	analyze  string
	half     uint32 // of the tests that an ordinary run does on one of the two
}

func postgres(t testing.TB) server {
	s := servicetest.Postgres(t)
	return server{s.Database, s.Exec, "reprise.", "ANALYZE", 0}
}

func mariaDB(t testing.TB) server {
	s := servicetest.MariaDB(t)
	return server{s.Database, s.Exec, "", "ANALYZE TABLE", 1}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	suite(t, postgres(t))
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	suite(t, mariaDB(t))
}

// suite is what has to hold on every server. An ordinary run does what sends every statement on both, and of the others each on one.
func suite(t *testing.T, s server) {
	for name, test := range map[string]func(*testing.T, server){
		"restore":                    testRestore,
		"killed anywhere":            testKilledAnywhere,
		"three processes":            testThreeProcesses,
		"claims are disjoint":        testClaimsAreDisjoint,
		"late worker":                testLateWorker,
		"dead worker":                testDeadWorker,
		"late manager":               testLateManager,
		"lost in the middle":         testLostInTheMiddle,
		"lost at the end":            testLostAtTheEnd,
		"missing fence":              testMissingFence,
		"refused worker waits":       testRefusedWorkerWaits,
		"errors are not the end":     testErrorsAreNotTheEnd,
		"refused targets":            testRefusedTargets,
		"trouble passes":             testTroublePasses,
		"short lists":                testShortLists,
		"quarantine":                 testQuarantine,
		"deadly unit":                testDeadlyUnit,
		"suspects are taken alone":   testSuspectsAreTakenAlone,
		"impossible targets":         testImpossibleTargets,
		"corrections":                testCorrections,
		"check":                      testCheck,
		"check after a dead one":     testCheckAfterADeadOne,
		"undo of what was not noted": testUndoOfWhatWasNotNoted,
		"uncorrectable":              testUncorrectable,
		"second session":             testSecondSession,
		"begun by many":              testBegunByMany,
		"other configuration":        testOtherConfiguration,
		"another system":             testAnotherSystem,
		"time of failure":            testTimeOfFailure,
		"who and why":                testWhoAndWhy,
		"already complete":           testAlreadyComplete,
		"pause":                      testPause,
		"hears itself":               testHearsItself,
		"pace":                       testPace,
		"priority":                   testPriority,
		"cancel":                     testCancel,
		"other sessions":             testOtherSessions,
		"cancel without target":      testCancelWithoutTarget,
		"progress":                   testProgress,
		"somebody removes a row":     testSomebodyRemovesARow,
		"strange findings":           testStrangeFindings,
		"findings of a lost life":    testFindingsOfALostLife,
	} {
		if proving() || onBoth(name) || crc32.ChecksumIEEE([]byte(name))%2 == s.half {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, s)
			})
		}
	}
}

// onBoth reports whether a test is done on both servers in every run: together these send every statement.
func onBoth(name string) bool {
	switch name {
	case "restore", "killed anywhere", "claims are disjoint", "late worker", "lost in the middle", "quarantine", "suspects are taken alone", "corrections", "check", "pause", "pace", "who and why", "cancel", "progress", "strange findings":
		return true
	}
	return false
}

// world is a database with sessions.
type world struct {
	*testing.T
	server
	dsn string
}

func newWorld(t *testing.T, s server) *world {
	t.Helper()
	w := &world{t, s, s.database(t)}
	_, err := Migrate(t.Context(), w.dsn)
	w.must(err)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// sql changes the tables behind everybody's back. @ stands before the names of tables.
func (w *world) sql(text string) {
	w.Helper()
	u, err := url.Parse(w.dsn)
	w.must(err)
	w.exec(strings.TrimPrefix(u.Path, "/"), strings.ReplaceAll(text, "@", w.schema))
}

// expire lets all leases and backoffs end, as time does.
func (w *world) expire() {
	w.Helper()
	w.sql("UPDATE @restore_sessions SET lease_until = 0 WHERE finished_at = 0")
	w.sql("UPDATE @restore_targets SET available_at = 0 WHERE state IN ('processing', 'retryable')")
}

func (w *world) sessions() *Sessions {
	w.Helper()
	s, err := Open(w.Context(), w.dsn, 6)
	w.must(err)
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// options do not wait.
func options(name string) Options {
	return Options{Name: name, Program: "test", Workers: 1, Poll: 8 * time.Millisecond, Backoff: time.Microsecond, Lease: time.Minute, Attempts: 2, ListAtOnce: 2}
}

func (w *world) runner(p Plan, name string) *Runner {
	w.Helper()
	return New(w.sessions(), p, options(name))
}

func request() Request { return Request{Who: "ann", Why: "redis was emptied"} }

func (w *world) start(r *Runner) Session {
	w.Helper()
	v, _, err := r.Start(w.Context(), request())
	w.must(err)
	return v
}

// work works until the session is over.
func (w *world) work(r *Runner) Session {
	w.Helper()
	v, err := r.Work(w.Context())
	w.must(err)
	return v
}

// restored wants everything restored, each phase of each unit once in the generation that counts, and the gate open.
func (w *world) restored(p *toy, v Session) {
	w.Helper()
	if v.State != Finished || v.FinishedAt.IsZero() {
		w.Fatalf("the session is %s: %+v", v.State, v)
	}
	p.target.mu.Lock()
	defer p.target.mu.Unlock()
	if !p.target.open || p.target.held || p.target.generation != v.Generation {
		w.Errorf("open %v, held %v, generation %q of %q", p.target.open, p.target.held, p.target.generation, v.Generation)
	}
	times := map[application]int{}
	for _, a := range p.target.applied {
		times[a]++
	}
	for _, name := range p.units {
		u := p.target.units[name]
		if p.sick[name] == nil && (u == nil || u.value != 111) {
			w.Errorf("unit %s is %+v", name, u)
		}
		for phase := range 3 {
			if n := times[application{name, phase, v.Generation}]; n != 1 && p.sick[name] == nil {
				w.Errorf("phase %d of unit %s was done %d times", phase, name, n)
			}
		}
	}
}

// events returns the details of the events of a kind.
func (w *world) events(v Session, kind string) (all []string) {
	w.Helper()
	events, err := w.sessions().Events(w.Context(), v.ID, 0, 10000)
	w.must(err)
	for _, e := range events {
		if e.Kind == kind {
			all = append(all, e.Detail)
		}
	}
	return all
}

// in runs something beside the test, and returns how it ended.
func in(ctx context.Context, work func(context.Context) error) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- work(ctx) }()
	return ended
}
