package pgstore

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// together starts processes, lets all go at once, and counts the lines that they write.
func together(t *testing.T, children []*exec.Cmd) map[string]int {
	t.Helper()
	outputs, inputs := make([]*bufio.Reader, len(children)), make([]io.WriteCloser, len(children))
	for i, c := range children {
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		outputs[i] = bufio.NewReader(stdout)
		if inputs[i], err = c.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range children {
		if line, err := outputs[i].ReadString('\n'); line != "ready\n" {
			t.Fatalf("child %d: %q, %v", i, line, err)
		}
	}
	for i := range children {
		if _, err := io.WriteString(inputs[i], "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := map[string]int{}
	for i, c := range children {
		rest, err := io.ReadAll(outputs[i])
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(rest)) {
			lines[strings.TrimSpace(line)]++
		}
		if err := c.Wait(); err != nil {
			t.Fatalf("child %d: %v: %s", i, err, rest)
		}
	}
	return lines
}

// Because only sequential duplicates may be caught elsewhere (case O28): a burst from two processes.
func TestOneOfTwoProcessesGetsTheKey(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	digest := newBegin().Scope.Digest
	outcomes := together(t, []*exec.Cmd{child(t, "burst", d.dsn, digest), child(t, "burst", d.dsn, digest)})
	if outcomes["acquired"] != 1 || outcomes["in-progress"] != 199 || len(outcomes) != 2 {
		t.Fatalf("outcomes of 200 begins on one key: %v", outcomes)
	}
}

// Because two processes that prepare an empty database at once fail elsewhere.
func TestManyProcessesMigrateAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	dsn := servicetest.Postgres(t).Database(t)
	children := make([]*exec.Cmd, 4)
	for i := range children {
		children[i] = child(t, "migrate", dsn, machine.Digest{1})
	}
	if said := together(t, children); said["version 1"] != len(children) || len(said) != 1 {
		t.Fatalf("four processes prepared an empty database: %v", said)
	}
}

// kills is how often a process is killed. REPRISE_PROVE=1 makes it many.
func kills() int {
	if os.Getenv("REPRISE_PROVE") == "1" {
		return 1000
	}
	return 20
}

// A process that places orders is killed again and again. There is one order for each key with an answer,
// every acknowledged key has one, and nothing is half done.
func TestKilledEffectsAreDoneOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec(ordersTable)
	conn := d.connect()
	for round := range kills() {
		acknowledged := killedAfter(t, child(t, "orders", d.dsn, machine.Digest{1}), 1+round%7)
		for _, digest := range acknowledged {
			var orders int
			if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM orders WHERE key = $1", digest.String()).Scan(&orders); err != nil || orders != 1 {
				t.Fatalf("%d orders for an acknowledged key: %v", orders, err)
			}
		}
	}
	var orders, keys, answers, open int
	err := conn.QueryRow(t.Context(), "SELECT count(*), count(DISTINCT key), (SELECT count(*) FROM reprise.reprise_answered), (SELECT count(*) FROM reprise.reprise_open) FROM orders").
		Scan(&orders, &keys, &answers, &open)
	if err != nil || orders != keys || keys != answers || open != 0 {
		t.Errorf("%d orders, %d keys with orders, %d answers, %d unfinished records: %v", orders, keys, answers, open, err)
	}
}

// killedAfter kills a process once it has acknowledged a number of keys, and returns all it acknowledged.
func killedAfter(t *testing.T, c *exec.Cmd, keys int) (acknowledged []machine.Digest) {
	t.Helper()
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		digest, err := machine.ParseDigest(lines.Text())
		if err != nil {
			continue // the line that the kill cut short
		}
		if acknowledged = append(acknowledged, digest); len(acknowledged) == keys {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err == nil || len(acknowledged) < keys {
		t.Fatalf("the process acknowledged %d keys and ended: %v", len(acknowledged), err)
	}
	return acknowledged
}
