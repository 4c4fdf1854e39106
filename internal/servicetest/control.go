//go:build unix

package servicetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// control is what a test can do to its server, of whatever kind.
type control struct {
	t testing.TB
	d *daemon
}

// Log returns what the server wrote to its log until now; of a very long one, the end.
func (c control) Log() string { return c.d.log.since(0) }

// Kill kills the server and all of its processes, and returns when they are gone.
func (c control) Kill() {
	c.t.Helper()
	c.do("kill", func(p *process) (bool, error) { return true, p.kill() })
}

// Stop stops the server in an orderly way: it ends its connections, and keeps what it is to keep.
func (c control) Stop() {
	c.t.Helper()
	c.do("stop", func(p *process) (bool, error) { return true, p.end(c.d.stop) })
}

// Pause stops all processes of the server, until Resume, in the middle of what they do. Connections stay
// open. A paused server can be killed; to be stopped, it must be resumed first.
func (c control) Pause() {
	c.t.Helper()
	c.do("pause", func(p *process) (bool, error) { c.d.paused = true; return false, p.pause() })
}

// Resume ends a Pause.
func (c control) Resume() {
	c.t.Helper()
	c.do("resume", func(p *process) (bool, error) { c.d.paused = false; return false, p.resume() })
}

// Restart starts the server on its old port, after Kill or Stop or, if it runs, after stopping it. It
// returns when the server takes connections.
func (c control) Restart() {
	c.t.Helper()
	if c.d.shared || c.d.running() {
		c.Stop() // which refuses to stop one that others use
	}
	if !c.d.shared {
		c.check("restart", c.d.start())
	}
}

// FillDisk leaves no room on the disk of the server. What already has room can still be written.
func (c control) FillDisk() {
	c.t.Helper()
	if c.d.disk == "" {
		c.check("fill the disk", errors.New("it has none of its own: set DiskBytes in its options"))
		return
	}
	c.check("fill the disk", fill(c.ballast()))
}

// FreeDisk takes back FillDisk.
func (c control) FreeDisk() {
	c.t.Helper()
	c.check("free the disk", os.Remove(c.ballast()))
}

func (c control) ballast() string { return filepath.Join(c.d.mount(), "ballast") }

// do does something to the server's processes. It says whether they have ended with that.
func (c control) do(what string, act func(*process) (ended bool, err error)) {
	c.t.Helper()
	if c.d.shared {
		c.check(what, errors.New("other tests use this server: start one of your own"))
		return
	}
	c.d.mu.Lock()
	defer c.d.mu.Unlock()
	if c.d.process == nil {
		c.check(what, errors.New("the server is not running"))
		return
	}
	ended, err := act(c.d.process)
	if ended {
		c.d.process = nil
	}
	c.check(what, err)
}

func (c control) check(what string, err error) {
	c.t.Helper()
	if err != nil {
		c.t.Errorf("servicetest: %s: %v", what, fmt.Errorf("%s: %w", c.d.kind, err))
	}
}
