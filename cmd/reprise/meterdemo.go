package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/meter"
)

func newMeterDemoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show in less than a minute what the meter does",
		Long: "Starts a Redis and a MariaDB of its own in a temporary directory, from the programs of this machine, loads lines and families,\n" +
			"sends usage with duplicates and late events to two processes, kills one of them, empties Redis, and shows the balances beside\n" +
			"what the done log says. It ends with exit code 0 only if each line came out as promised.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return runMeterDemo(ctx, cmd.OutOrStdout())
		},
	}
}

// runMeterDemo plays the story in a directory of its own, and leaves nothing behind unless a line fails.
func runMeterDemo(ctx context.Context, out io.Writer) error {
	found, err := findPrograms()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "reprise-meter-demo-")
	if err != nil {
		return err
	}
	d := &meterDemo{dir: dir, found: found, tale: &tale{out: out}}
	err = d.play(ctx)
	d.stop()
	switch {
	case err == nil:
		return os.RemoveAll(dir)
	case ctx.Err() != nil:
		return errors.Join(errors.New("interrupted"), os.RemoveAll(dir))
	}
	return fmt.Errorf("%w; what the processes printed is in %s", err, dir)
}

// meterDemo is the stage: two servers, and processes that serve.
type meterDemo struct {
	dir        string
	tale       *tale
	found      programs
	redis, sql *server
	serving    []*child
	addresses  []string
	parts      *meterParts
	traffic    *traffic
	sent       []meter.Event
}

// meterDemoConfig is that of all commands of the demonstration.
const meterDemoConfig = "meter.yaml"

// prepare starts the servers, and writes the configuration.
func (d *meterDemo) prepare(ctx context.Context) (err error) {
	if d.redis, err = startDemoRedis(ctx, d.dir, d.found.redis); err != nil {
		return err
	}
	if d.sql, err = startDemoMariaDB(ctx, d.dir, d.found); err != nil {
		return err
	}
	text := fmt.Sprintf("redis: %s\nledger: %s\nzone: Europe/Berlin\nretention: 4d\ntake-over: 2s\nlog: {format: text}\n", d.redis.dsn, d.sql.dsn)
	if err := os.WriteFile(filepath.Join(d.dir, meterDemoConfig), []byte(text), 0o600); err != nil {
		return err
	}
	c, err := config.LoadMeter(config.Sources{File: meterDemoConfig, YAML: []byte(text)}, keyRedis, keyLedger)
	if err != nil {
		return err
	}
	if _, err := runSelf(ctx, d.dir, "migrate", "up", "--ledger", c.Ledger); err != nil {
		return err
	}
	if d.parts, err = openLedger(ctx, c, newLogger(io.Discard, c.Log)); err != nil {
		return err
	}
	for range 2 {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		d.addresses = append(d.addresses, address)
	}
	d.serving = make([]*child, len(d.addresses))
	d.traffic = &traffic{lines: 300, families: 30, events: 4000, duplicates: 0.05, late: 0.02, retention: c.Retention}
	for _, address := range d.addresses {
		d.traffic.urls = append(d.traffic.urls, "http://"+address)
	}
	return nil
}

// serve starts the process of a number.
func (d *meterDemo) serve(ctx context.Context, n int) (err error) {
	d.serving[n], err = startChild(ctx, fmt.Sprintf("meter-%d", n+1), d.dir, d.addresses[n], "meter", "serve", "--config", meterDemoConfig, "--listen", d.addresses[n])
	return err
}

// reprise runs a command of the meter, and prints it as in a terminal.
func (d *meterDemo) reprise(ctx context.Context, args ...string) (string, error) {
	printed, err := runSelf(ctx, d.dir, append([]string{"meter"}, append(args, "--config", meterDemoConfig)...)...)
	shown := make([]string, len(args))
	for i, arg := range args {
		if shown[i] = arg; strings.Contains(arg, " ") {
			shown[i] = "'" + arg + "'"
		}
	}
	d.tale.shell("reprise meter "+strings.Join(shown, " "), printed)
	return printed, err
}

// stop ends what was started.
func (d *meterDemo) stop() {
	for _, c := range d.serving {
		if c != nil {
			c.kill()
		}
	}
	if d.parts != nil {
		_ = d.parts.close() // the databases are to be removed
	}
	for _, s := range []*server{d.redis, d.sql} {
		s.stop()
	}
}

// tale prints the lines of the story, and knows whether all came out as promised.
type tale struct {
	out    io.Writer
	lines  int
	failed int
}

// line prints what was done, and what came out, beside what was promised if that is something else.
func (t *tale) line(text, got, want string) {
	t.lines++
	mark := "ok"
	if got != want {
		mark = "FAILED"
		t.failed++
	}
	fmt.Fprintln(t.out, strings.TrimRight(fmt.Sprintf("  %-6s  %-74s %s", mark, text, got), " "))
	if got != want {
		fmt.Fprintf(t.out, "  %-6s  %-74s %s\n", "", "this was promised:", want)
	}
}

// shell prints a command and what it printed.
func (t *tale) shell(command, output string) { (&report{out: t.out}).shell(command, output) }

// end says how it went.
func (t *tale) end() error { return (&report{out: t.out, lines: t.lines, failed: t.failed}).end() }
