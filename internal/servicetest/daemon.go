//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
)

// daemon is a server that is started here, of whatever kind: its folder, its process, its log.
type daemon struct {
	kind   string // as people call it
	log    *serverLog
	folder *folder
	disk   string         // where its disk is mounted; empty if it has none of its own
	stop   syscall.Signal // ends it in an orderly way
	shared bool           // other tests may be using it
	// launch starts the process and waits until it serves.
	launch func() (*process, error)

	mu      sync.Mutex
	process *process // nil when stopped
	paused  bool
}

// open starts the server on a port that is free, and so are those at some distances from it; place is
// told which. Somebody else may take it before the server does: then another one is tried.
func (d *daemon) open(place func(port int) error, distances ...int) error {
	var failed error
	for range 5 {
		port, err := freePort(distances...)
		if err != nil {
			return err
		}
		if err := place(port); err != nil {
			return err
		}
		if failed = d.start(); failed == nil {
			return nil
		}
	}
	return fmt.Errorf("%w\nlog:\n%s", failed, d.log.since(0))
}

// start starts the server and waits until it serves.
func (d *daemon) start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process != nil {
		return errors.New("the server is running")
	}
	started, err := d.launch()
	if err == nil {
		d.process, d.paused = started, false
	}
	return err
}

// run starts a program as the server, and waits until it serves.
func (d *daemon) run(answers func(context.Context) error, program string, arguments ...string) (*process, error) {
	started, err := startProcess(d.folder, d.log, program, arguments...)
	if err != nil {
		return nil, err
	}
	if err := started.ready(answers); err != nil {
		return nil, errors.Join(err, started.kill())
	}
	return started, nil
}

func (d *daemon) running() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process != nil
}

// responds reports whether the server runs and is not paused.
func (d *daemon) responds() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.process != nil && !d.paused
}

// quit ends the server in some way, also one that is paused.
func (d *daemon) quit(how func(*process) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.process == nil {
		return nil
	}
	p := d.process
	d.process = nil
	return errors.Join(p.resume(), how(p))
}

// addDisk gives the server a disk of its own, of some bytes.
func (d *daemon) addDisk(bytes int64) error {
	d.disk = filepath.Join(d.folder.path, "disk")
	return d.folder.mountDisk(d.disk, bytes)
}

// mount is where the disk of the server is: its folder, unless it has a disk of its own.
func (d *daemon) mount() string {
	if d.disk != "" {
		return d.disk
	}
	return d.folder.path
}
