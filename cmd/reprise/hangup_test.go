package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// A signal to reload is none to hurry: what runs is finished.
func TestHangUpWhileDraining(t *testing.T) {
	t.Parallel()
	up, arrived, answer := held(t)
	p := startProxy(t, t.TempDir(), nil, "--upstream", up.URL, "--principal", "authorization", "--store", "memory:")
	first := make(chan got)
	go func() { first <- p.post("/orders", "one", "book") }()
	<-arrived
	p.signal(syscall.SIGTERM)
	p.await("stopping")
	p.signal(syscall.SIGHUP)
	p.await("not reloaded")
	answer()
	if g := <-first; g.status != 200 || g.body != "made" {
		t.Errorf("what ran: %+v", g)
	}
	if code := p.exit(); code != exitDone {
		t.Errorf("exit code %d; it printed:\n%s", code, p.printed())
	}
}

// What was read before a signal to reload is read again, also where the signal came before the start was over.
func TestHangUpWhileStarting(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	out, log := io.Pipe()
	p := process{Out: io.Discard, Err: log}
	cmd := &cobra.Command{}
	flags := addConfigFlags(cmd, p)
	if err := cmd.ParseFlags([]string{"--upstream", up.URL, "--principal", "none", "--store", "memory:", "--listen", "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // it would be waited for without end
	defer cancel()
	signals := make(chan os.Signal, 2)
	signals <- syscall.SIGHUP
	ended := make(chan error, 1)
	go func() {
		ended <- runProxy(ctx, p, flags, signals)
		log.Close()
	}()
	reloaded := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), `"msg":"reloaded"`) {
			reloaded = true
			signals <- syscall.SIGTERM
		}
	}
	if err := <-ended; err != nil || !reloaded {
		t.Errorf("reloaded: %v, %v", reloaded, err)
	}
}
