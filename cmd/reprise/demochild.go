package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
)

// child is a process of the demonstration: this program, with another command line.
type child struct {
	name  string
	log   string // file with what it printed
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process is gone
}

// startChild starts a process that ends at the latest when this one does, and waits until it accepts
// connections at the address.
func startChild(ctx context.Context, name, dir, address string, args ...string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{name: name, log: filepath.Join(dir, name+".log"), ended: make(chan struct{})}
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has it
	c.cmd = exec.Command(program, append([]string{"demo", "child", "--"}, args...)...)
	c.cmd.Dir, c.cmd.Env = dir, plainEnvironment()
	c.cmd.Stdout, c.cmd.Stderr = out, out
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // how it ended is in its log
	}()
	if err := c.accepts(ctx, address); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// accepts waits until something listens at the address.
func (c *child) accepts(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-again.C:
		case <-c.ended:
			return fmt.Errorf("the %s ended at once; it printed:\n%s", c.name, c.printed())
		case <-ctx.Done():
			return fmt.Errorf("the %s does not listen on %s: %w; it printed:\n%s", c.name, address, ctx.Err(), c.printed())
		}
	}
}

func (c *child) printed() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// kill ends the process as kill -9 does, and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may be gone already
	<-c.ended
	_ = c.stdin.Close()
}

// newDemoChildCommand runs another command line of this program, until standard input ends: when the
// process that holds the other end is gone, however it went, so is this one.
func newDemoChildCommand(p process) *cobra.Command {
	return &cobra.Command{
		Use:    "child -- COMMAND…",
		Short:  "Run a command until standard input ends",
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			signal.Ignore(os.Interrupt) // ctrl-C is for the process that started this one
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			go func() {
				_, _ = io.Copy(io.Discard, p.In)
				cancel()
			}()
			root := newRootCommand(p)
			root.SetArgs(args)
			return root.ExecuteContext(ctx)
		},
	}
}

// plainEnvironment is the environment without what configures Reprise: the demonstration is the same
// everywhere.
func plainEnvironment() []string {
	settings := []string{secretVariable, configVariable, meterConfigVariable}
	for _, key := range append(config.Keys(), config.MeterKeys()...) {
		settings = append(settings, key.Variable())
	}
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(settings, name)
	})
}

// freeAddress returns a loopback address that nobody listens on now.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
