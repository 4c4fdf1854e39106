package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/restore"
)

// What a person reads of a restore says what is awaited, and for how long.
func TestNextStepOfARestore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	led := restore.Session{Led: true, Owner: "host/7", Now: now, HeartbeatAt: now}
	for _, c := range []struct {
		change func(*restore.Progress)
		want   string
	}{
		{func(p *restore.Progress) { p.Session.State = restore.Draining }, "what was let through the gate ends"},
		{func(p *restore.Progress) {
			p.Session.State, p.Session.HeartbeatAt = restore.Applying, now.Add(-20*time.Second)
		}, "host/7, has given no sign for 20s: if it has died, `reprise restore start` goes on in 10s"},
		{func(p *restore.Progress) { p.Session.State, p.Session.Led = restore.Applying, false }, "nobody manages it"},
		{func(p *restore.Progress) { p.Session.State, p.Known, p.Left = restore.Applying, true, time.Minute }, "about 1m0s left"},
		{func(p *restore.Progress) { p.Session.State = restore.Verifying }, "wait: the gate opens by itself"},
		{func(p *restore.Progress) { p.Session.State = restore.Finished }, "the gate is open"},
	} {
		p := restore.Progress{Session: led}
		c.change(&p)
		if got := nextStep(p); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not say %q", p.Session.State, got, c.want)
		}
	}
}

// What is drawn again takes the place of what was drawn before, also where lines are longer than the terminal is wide.
func TestScreen(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &screen{file: file}
	s.draw("short\n" + strings.Repeat("é", usualColumns) + "\n" + strings.Repeat("x", usualColumns+1) + "\n")
	if s.rows != 4 {
		t.Errorf("%d rows", s.rows)
	}
	s.draw("again\n")
	text, err := os.ReadFile(file.Name())
	if err != nil || !strings.HasSuffix(string(text), "\x1b[4A\r\x1b[Jagain\n") || s.rows != 1 {
		t.Errorf("%q, %v, %d rows", text, err, s.rows)
	}
}
