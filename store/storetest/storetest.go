// Package storetest is the conformance suite of all stores: one call of [Run] from a store's test.
//
// A store is right when it is [machine.Step] under a lock, by its own clock. The suite says so in three
// ways: a table (table.txt) states the outcome of every command in every situation; every reply of the
// store, and the record that is there afterwards, is compared with a model that calls machine.Step;
// and random histories, sequential and concurrent, are compared with the same model. The model takes
// the time from the reply, so that a store whose server has a running clock can be compared exactly.
//
//	func TestStore(t *testing.T) {
//		t.Parallel()
//		storetest.Run(t, func(t *testing.T) storetest.Harness {
//			clock := …
//			return storetest.Harness{
//				Open:    func() (store.Store, error) { return mystore.Open(…) },
//				Advance: clock.Advance,
//			}
//		})
//	}
//
// With REPRISE_PROVE=1 in the environment the random histories are long: 100,000 commands.
package storetest

import (
	"os"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// Harness is one database for the suite: fresh, empty, with a clock of its own.
type Harness struct {
	// Open returns a handle on the database. It is called again for further handles on the same data,
	// as other processes would have them; the suite uses them concurrently and closes each at the end.
	// A store that lives in one process may return the same handle every time, if Close can be repeated.
	Open func() (store.Store, error)
	// Advance moves the database's clock forward, for all handles. Apart from it the clock may stand
	// still or run. No command is under way when Advance is called.
	Advance func(d time.Duration)
	// Fades says that records which count as absent vanish by themselves some time after. To forget one is
	// then answered as if there had never been one.
	Fades bool
	// Sampled says that the whole suite runs on the same store in another arrangement. What this one can hardly
	// change, the table and random histories, is then a sample, except with REPRISE_PROVE=1.
	Sampled bool
}

func (h Harness) sampled() bool { return h.Sampled && !proving() }

// Run tests a store. open makes a new [Harness] for each part of the suite, and cleans up by t.Cleanup.
// The parts run in parallel.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, part := range parts {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.run(t, open)
		})
	}
}

// parts are the suite, in the order of reading.
var parts = [...]struct {
	name string
	run  func(t *testing.T, open func(t *testing.T) Harness)
}{
	{"smoke", on(smoke)},
	{"table", runTable},
	{"retries", runRetries},
	{"lost", runLost},
	{"late copies", on(runLateCopies)},
	{"ended", on(runEnded)},
	{"races", runRaces},
	{"boundaries", on(runBoundaries)},
	{"store's clock", on(runStoreClock)},
	{"fields", on(runFields)},
	{"answers", on(runAnswers)},
	{"keys", on(runKeys)},
	{"invalid", on(runInvalid)},
	{"random", runRandom},
	{"linear", runLinear},
	{"secrets", on(runSecrets)},
	{"secret race", on(runSecretRace)},
	{"list", on(runList)},
	{"list while changing", on(runListWhileChanging)},
	{"count", on(runCount)},
	{"purge", on(runPurge)},
	{"limits", on(runLimits)},
	{"purge spares what is unknown", on(runPurgeSpares)},
	{"watch", on(runWatch)},
	{"import", runImport},
	{"import replaces", runImportReplaces},
}

// on runs a part on one database.
func on(run func(d *database)) func(*testing.T, func(*testing.T) Harness) {
	return func(t *testing.T, open func(*testing.T) Harness) { run(newDatabase(t, open(t))) }
}

// proving reports whether the long histories were asked for.
func proving() bool { return os.Getenv("REPRISE_PROVE") == "1" }
