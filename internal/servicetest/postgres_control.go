//go:build unix

package servicetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Addr is where the server listens: host:port.
func (s *PostgresServer) Addr() string { return s.address() }

// CA is the path of the certificate that a TLS client verifies the server with; empty without TLS.
func (s *PostgresServer) CA() string { return s.ca }

// Log returns what the server wrote to its log until now; of a very long one, the end.
func (s *PostgresServer) Log() string { return s.log.since(0) }

// Kill kills the server and all of its processes, and returns when they are gone.
func (s *PostgresServer) Kill() {
	s.t.Helper()
	s.control("kill", func(p *process) (bool, error) { return true, p.kill() })
}

// Stop stops the server in an orderly way: what runs is rolled back, connections are ended.
func (s *PostgresServer) Stop() {
	s.t.Helper()
	s.control("stop", func(p *process) (bool, error) { return true, p.end(syscall.SIGINT) })
}

// Pause stops all processes of the server, until Resume, in the middle of what they do. Connections stay
// open. A paused server can be killed; to be stopped, it must be resumed first.
func (s *PostgresServer) Pause() {
	s.t.Helper()
	s.control("pause", func(p *process) (bool, error) { return false, p.pause() })
}

// Resume ends a Pause.
func (s *PostgresServer) Resume() {
	s.t.Helper()
	s.control("resume", func(p *process) (bool, error) { return false, p.resume() })
}

// Restart starts the server on its old port, after Kill or Stop or, if it runs, after stopping it. It
// returns when the server takes connections.
func (s *PostgresServer) Restart() {
	s.t.Helper()
	if s.running() {
		s.Stop()
	}
	if !s.shared {
		s.check("restart", s.start())
	}
}

// FillDisk leaves no room on the disk of the server. What already has room can still be written.
func (s *PostgresServer) FillDisk() {
	s.t.Helper()
	if s.options.DiskBytes == 0 {
		s.check("fill the disk", errors.New("the server has none of its own: set PostgresOptions.DiskBytes"))
		return
	}
	s.check("fill the disk", fill(s.ballast()))
}

// FreeDisk takes back FillDisk.
func (s *PostgresServer) FreeDisk() {
	s.t.Helper()
	s.check("free the disk", os.Remove(s.ballast()))
}

func (s *PostgresServer) ballast() string { return filepath.Join(s.mount(), "ballast") }

// control does something to the server's processes. It says whether they have ended with that.
func (s *PostgresServer) control(what string, act func(*process) (ended bool, err error)) {
	s.t.Helper()
	if s.shared {
		s.check(what, errors.New("other tests use this server: start one with NewPostgres"))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.check(what, errors.New("the server is not running"))
		return
	}
	ended, err := act(s.process)
	if ended {
		s.process = nil
	}
	s.check(what, err)
}

func (p *postgres) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.process != nil
}

func (s *PostgresServer) check(what string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Errorf("servicetest: %s: %v", what, fmt.Errorf("PostgreSQL: %w", err))
	}
}
