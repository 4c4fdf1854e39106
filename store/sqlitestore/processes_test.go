package sqlitestore

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/machine"
)

// Because only sequential duplicates may be caught elsewhere (case O28): a burst from several processes.
func TestOneOfManyProcessesGetsTheKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	digest := newBegin().Scope.Digest
	children := make([]*exec.Cmd, 4)
	for i := range children {
		children[i] = child(t, "burst", path, digest.String())
	}
	outcomes := killtest.Together(t, children...)
	if outcomes["acquired"] != 1 || outcomes["in-progress"] != 199 || len(outcomes) != 2 {
		t.Fatalf("outcomes of 200 begins on one key: %v", outcomes)
	}
}

// Processes that open an empty file at once all work, and one of them made it.
func TestManyProcessesOpenANewFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	var group sync.WaitGroup
	outputs := make(chan string, 5)
	for range cap(outputs) {
		group.Go(func() {
			output, err := child(t, "open", path).Output()
			if err != nil {
				output = fmt.Appendf(output, "%v", err)
			}
			outputs <- strings.TrimSpace(string(output))
		})
	}
	group.Wait()
	close(outputs)
	said := map[string]int{}
	for output := range outputs {
		said[output]++
	}
	if said["created true"] != 1 || said["created false"] != 4 {
		t.Fatalf("five processes opened a new file: %v", said)
	}
}

// A process is killed in the middle of its groups. What it acknowledged is there, with its answer.
func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	for range 3 {
		acknowledged := killedAfter(t, path, 400)
		s := open(t, path, Options{})
		for _, digest := range acknowledged {
			record := want(t, s, machine.Found, machine.Inspect{Scope: machine.Scope{Operation: "POST /orders", Digest: digest}}).Record
			if !bytes.Equal(record.Response.Data, []byte(digest.String())) {
				t.Fatalf("record %v has the answer %q", digest, record.Response.Data)
			}
		}
	}
	s := open(t, path, Options{})
	if err := integrity(s); err != nil {
		t.Fatal(err)
	}
	want(t, s, machine.Acquired, newBegin())
}

// killedAfter runs a writing process, kills it once it has acknowledged a number of keys, and returns
// all that it acknowledged.
func killedAfter(t *testing.T, path string, keys int) (acknowledged []machine.Digest) {
	t.Helper()
	for _, line := range killtest.Kill(t, child(t, "write", path), keys, 0) {
		if digest, err := machine.ParseDigest(line); err == nil { // else the kill cut it short
			acknowledged = append(acknowledged, digest)
		}
	}
	return acknowledged
}
