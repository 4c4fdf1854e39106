package killtest

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Shop is what the process that is killed works on.
type Shop interface {
	// Process returns the process, not yet started.
	Process() *exec.Cmd
	// Order places an order under a key that may have one.
	Order(key string) error
	// Orders counts those of a key.
	Orders(key string) int
	// Total counts all orders, the keys that have one, the answers on record, and the records without an
	// answer.
	Total() Total
}

// Total is what there is in a shop.
type Total struct{ Orders, Keys, Answers, Unfinished int }

// Rounds is how often a process is killed. REPRISE_PROVE=1 makes it many.
func Rounds() int {
	if os.Getenv("REPRISE_PROVE") == "1" {
		return 1000
	}
	return 20
}

// Run kills processes, and tries again what they did not acknowledge.
func Run(t *testing.T, shop Shop) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	keys, replayed := 0, 0
	for range Rounds() {
		// A line is no moment of its own: the other orders are anywhere then.
		left := kill(t, shop.Process(), 1+random.IntN(24), time.Duration(random.IntN(3000))*time.Microsecond)
		for key, acknowledged := range left {
			before := shop.Orders(key)
			if acknowledged && before != 1 || before > 1 {
				t.Fatalf("%d orders under key %s, acknowledged: %v", before, key, acknowledged)
			}
			if err := shop.Order(key); err != nil {
				t.Fatalf("key %s, acknowledged: %v, tried again: %v", key, acknowledged, err)
			}
			if n := shop.Orders(key); n != 1 {
				t.Fatalf("%d orders under key %s, acknowledged: %v, after it was tried again", n, key, acknowledged)
			}
			if !acknowledged && before == 1 {
				replayed++
			}
		}
		keys += len(left)
	}
	if total, want := shop.Total(), (Total{keys, keys, keys, 0}); total != want {
		t.Errorf("%+v, want %+v", total, want)
	}
	t.Logf("%d kills, %d keys, %d of them committed and not acknowledged", Rounds(), keys, replayed)
}

// kill kills a process, and returns the keys that it tried, and whether it acknowledged them.
func kill(t *testing.T, process *exec.Cmd, lines int, later time.Duration) map[string]bool {
	t.Helper()
	left := map[string]bool{}
	for _, line := range Kill(t, process, lines, later) {
		if what, key, _ := strings.Cut(line, " "); len(key) == keyLength { // else the kill cut it short
			left[key] = left[key] || what == done
		}
	}
	return left
}

// Kill starts a process, kills it some time after it has written a number of lines to its standard output,
// and returns all lines that it wrote. A process that ends by itself is a failure.
func Kill(t *testing.T, process *exec.Cmd, lines int, later time.Duration) (said []string) {
	t.Helper()
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	killed := make(chan error, 1)
	for output := bufio.NewScanner(stdout); output.Scan(); {
		if said = append(said, output.Text()); len(said) == lines {
			time.AfterFunc(later, func() { killed <- process.Process.Kill() })
		}
	}
	if err := process.Wait(); err == nil || len(said) < lines {
		t.Fatalf("the process ended by itself: %v: %s", err, strings.Join(said[max(0, len(said)-3):], "\n"))
	}
	if err := <-killed; err != nil {
		t.Fatal(err)
	}
	return said
}
