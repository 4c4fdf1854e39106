//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// patience is how long anything that a server should do may take before the test is given up.
const patience = time.Minute

// process is a running server with its children.
type process struct {
	folder *folder
	log    *serverLog
	cmd    *exec.Cmd
	// gone is closed when the server and all of its children have ended: they all hold the pipe that
	// the log comes from.
	gone chan struct{}
}

// startGated waits for a line before it becomes the server, so that the keeper knows of the process
// before there is anything to clean up.
const startGated = `read -r _ <&3 || exit 1; exec 3<&-; exec "$@"`

// startProcess starts a program that stays in the foreground and writes its log to standard output or
// error, as the account of the folder.
func startProcess(f *folder, log *serverLog, path string, args ...string) (*process, error) {
	output, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer input.Close()
	gate, open, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, output.Close())
	}
	defer gate.Close()
	defer open.Close()

	cmd := exec.Command("/bin/sh", append([]string{"-c", startGated, "server", path}, args...)...)
	cmd.Dir = f.path
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = f.account.attributes()
	cmd.Stdout, cmd.Stderr = input, input
	cmd.ExtraFiles = []*os.File{gate}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, output.Close())
	}
	p := &process{folder: f, log: log, cmd: cmd, gone: make(chan struct{})}
	go log.collect(output, p.gone)
	if err := f.watch(cmd.Process.Pid); err != nil {
		return nil, err
	}
	if _, err := open.WriteString("\n"); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// ready waits until try succeeds: now, and again whenever the server has written something to its log
// or a moment has passed. It fails when the server has ended.
func (p *process) ready(try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	moment := time.NewTicker(100 * time.Millisecond)
	defer moment.Stop()
	for {
		changed := p.log.changed()
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-changed:
		case <-moment.C:
		case <-p.gone:
			return fmt.Errorf("%s has ended: %w", p.cmd.Path, err)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %w", p.cmd.Path, patience, err)
		}
	}
}

// end sends a signal that ends the server, and waits until it and its children are gone.
func (p *process) end(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.waitGone()
}

// kill kills the server and its children, whatever state they are in.
func (p *process) kill() error {
	members, err := p.members()
	if err != nil {
		return err
	}
	for _, m := range members { // the server itself comes first, and has no more children then
		_ = syscall.Kill(m.pid, syscall.SIGKILL) // one that is gone is what is wanted
	}
	return p.waitGone()
}

// waitGone waits for the end of all members. Only then is the process reaped: until it is, its id
// means nobody else.
func (p *process) waitGone() error {
	select {
	case <-p.gone:
	case <-time.After(patience):
		return fmt.Errorf("process %d or a child of it has not ended after %v", p.cmd.Process.Pid, patience)
	}
	err := p.folder.watch(0)
	var exit *exec.ExitError
	if failed := p.cmd.Wait(); failed != nil && !errors.As(failed, &exit) {
		err = errors.Join(err, failed)
	}
	return err
}

// pause stops the server and its children until resume, and returns when none of them runs.
func (p *process) pause() error {
	deadline := time.After(patience)
	moment := time.NewTicker(time.Millisecond)
	defer moment.Stop()
	for {
		members, err := p.members()
		if err != nil {
			return err
		}
		running := 0
		for _, m := range members {
			if !m.stopped {
				running++
				_ = syscall.Kill(m.pid, syscall.SIGSTOP)
			}
		}
		if running == 0 {
			return nil
		}
		select {
		case <-moment.C:
		case <-deadline:
			return fmt.Errorf("%d processes of the server still run %v after they were stopped", running, patience)
		}
	}
}

// resume lets the server and its children run again.
func (p *process) resume() error {
	members, err := p.members()
	if err != nil {
		return err
	}
	for _, m := range members {
		_ = syscall.Kill(m.pid, syscall.SIGCONT)
	}
	return nil
}
