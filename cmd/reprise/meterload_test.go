package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// Load is sent to two processes, and all of it is in the done log, once.
func TestMeterLoad(t *testing.T) {
	t.Parallel()
	onSomeLedger(t, func(t *testing.T, at *meterSite) {
		at.must("hydrate") // of nobody: those of the load are let in
		serve := []string{"meter", "serve", "--config", "meter.yaml", "--listen", "127.0.0.1:0"}
		first, second := startServing(t, at.dir, nil, serve...), startServing(t, at.dir, []string{"REPRISE_METER_DURABLE=true"}, serve...)
		url := "http://" + first.address + ",http://" + second.address
		out := at.must("load", "--lines", "60", "--families", "6", "--events", "1500", "--url", url, "--duplicates", "20%", "--late", "0.1", "--rate", "5000")
		if !strings.Contains(out, "1500 events") {
			t.Error(out)
		}
		at.says(exitDone, "1500 events", "audit")
	})
}

// The demonstration plays to its end, and leaves nothing behind.
func TestMeterDemo(t *testing.T) {
	t.Parallel()
	servicetest.MariaDB(t) // is skipped where a program is missing
	servicetest.Redis(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "meter", "demo")
	cmd.Env = append(os.Environ(), beMain+"=1", "TMPDIR="+dir, "REPRISE_METER_REDIS=nonsense", "REPRISE_METER_ZONE=nonsense")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All 8 lines came out as promised.") || strings.Contains(string(out), "FAILED") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Where the servers' programs are missing, it names all of them before it makes anything.
func TestMeterDemoWithoutServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "meter", "demo")
	cmd.Env = append(os.Environ(), beMain+"=1", "TMPDIR="+dir, "PATH="+dir)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "reprise: the demonstration starts a Redis") || !strings.HasSuffix(string(out), " mariadb-server\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
