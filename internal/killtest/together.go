package killtest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Together starts processes, lets all go at once when each is [Ready], and counts the lines that they write.
func Together(t *testing.T, processes ...*exec.Cmd) map[string]int {
	t.Helper()
	outputs, inputs := make([]*bufio.Reader, len(processes)), make([]io.WriteCloser, len(processes))
	for i, p := range processes {
		stdout, err := p.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		outputs[i] = bufio.NewReader(stdout)
		if inputs[i], err = p.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range processes {
		if line, err := outputs[i].ReadString('\n'); line != "ready\n" {
			t.Fatalf("process %d: %q, %v", i, line, err)
		}
	}
	for i := range processes {
		if _, err := io.WriteString(inputs[i], "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	lines := map[string]int{}
	for i, p := range processes {
		rest, err := io.ReadAll(outputs[i])
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(rest)) {
			lines[strings.TrimSpace(line)]++
		}
		if err := p.Wait(); err != nil {
			t.Fatalf("process %d: %v: %s", i, err, rest)
		}
	}
	said := 0
	for _, n := range lines {
		said += n
	}
	t.Logf("%d answers to %d processes", said, len(processes))
	return lines
}

// Ready is called by a process of [Together]: it tells the test that all is prepared, and waits for it to say go.
func Ready() error {
	fmt.Fprintln(os.Stdout, "ready")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// Burst is what a process of [Together] does that sends one command after the other from many callers at once, and says what
// each was told.
func Burst(s store.Store, callers int, command func() machine.Command) error {
	if err := Ready(); err != nil {
		return err
	}
	var group sync.WaitGroup
	outcomes := make(chan string, callers)
	for range callers {
		group.Go(func() {
			reply, err := s.Apply(context.Background(), command())
			if err != nil {
				outcomes <- err.Error()
				return
			}
			outcomes <- reply.Outcome.String()
		})
	}
	group.Wait()
	close(outcomes)
	for outcome := range outcomes {
		fmt.Fprintln(os.Stdout, outcome)
	}
	return nil
}
