package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// startDemo starts the demonstration in a process of its own, with a directory for its temporary files.
// Both of its streams can be read from the pipe.
func startDemo(t *testing.T, args ...string) (cmd *exec.Cmd, lines *bufio.Scanner, dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd = exec.Command(os.Args[0], append([]string{"demo"}, args...)...)
	// What is set for a proxy of one's own does not matter here.
	cmd.Env = append(os.Environ(), beMain+"=1", "TMPDIR="+dir, "REPRISE_UPSTREAM=nonsense", "REPRISE_STORE=nonsense")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewScanner(out), dir
}

// The demonstration plays to its end, and leaves nothing behind. What it prints is without control
// characters, and each line has its evidence.
func TestDemo(t *testing.T) {
	t.Parallel()
	cmd, lines, dir := startDemo(t)
	var printed strings.Builder
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	for _, want := range []string{
		"50 x 201      2      2  49 replayed\n", "422             2  key-reused\n", "409             4  outcome-unknown\n",
		"settled revision 2 as completed", "All 10 lines came out as promised.\n",
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("%q was not printed", want)
		}
	}
	if strings.ContainsAny(printed.String(), "\x1b\r") || strings.Contains(printed.String(), "FAILED") {
		t.Error("control characters, or a line that failed")
	}
	if t.Failed() {
		t.Log(printed.String())
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// With --stay it goes on: what it says to try works, a power cut is followed by a restart, and an
// interrupt ends all of it.
func TestDemoStays(t *testing.T) {
	t.Parallel()
	cmd, lines, dir := startDemo(t, "--stay")
	var order, count string
	for count == "" && lines.Scan() {
		switch line := strings.TrimSpace(lines.Text()); {
		case strings.HasPrefix(line, "curl -i http"):
			order = urlIn(line)
		case strings.HasPrefix(line, "curl http"):
			count = urlIn(line)
		}
	}
	send := func(url, key, item string) got {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"item": "`+item+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.GetBody = nil
		r.Header.Set("Authorization", "Bearer carol")
		r.Header.Set("Idempotency-Key", key)
		return fetch(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r)
	}
	if g := send(order, "cut-1", powerCut); g.status != http.StatusGatewayTimeout {
		t.Errorf("power cut: %+v", g)
	}
	// Until the service is back the proxy says that it sent nothing, and the key stays free.
	g := send(order, "tea-1", "tea")
	for g.status == http.StatusBadGateway {
		g = send(order, "tea-1", "tea")
	}
	if again := send(order, "tea-1", "tea"); g.status != http.StatusCreated || again.body != g.body || !again.replayed {
		t.Errorf("tea: %+v, again %+v", g, again)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, count, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := fetch(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, r); g.body != "{\"made\":6}\n" {
		t.Errorf("orders: %+v", g)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // until every process that has the other end is gone
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after the interrupt: %v", err)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// urlIn returns the URL in a curl line.
func urlIn(line string) string {
	for word := range strings.FieldsSeq(line) {
		if strings.HasPrefix(word, "http://") {
			return word
		}
	}
	return ""
}
