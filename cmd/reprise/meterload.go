package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter/meterledger"
)

func newMeterLoadCommand(p process) *cobra.Command {
	t := &traffic{prefix: "load-"}
	var duplicates, late, url string
	cmd := &cobra.Command{
		Use:   "load --lines N --families N --events N [--rate R]",
		Short: "Send made-up usage to processes that serve, and time it",
		Long: "Adds lines, families and apps whose names begin with load- to the ledger, sees to it that they can be used, sends events of\n" +
			"them, and waits until all are in the done log. For a ledger of tests: what it adds stays.",
		Args: noArguments,
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().IntVar(&t.lines, "lines", 1000, "how many lines")
	cmd.Flags().IntVar(&t.families, "families", 25, "how many families, of four lines each")
	cmd.Flags().IntVar(&t.events, "events", 10_000, "how many events, each counted once")
	cmd.Flags().Float64Var(&t.rate, "rate", 0, "events a second; 0 is as fast as they are taken in")
	cmd.Flags().StringVar(&duplicates, "duplicates", "5%", "how many of them are sent twice")
	cmd.Flags().StringVar(&late, "late", "2%", "how many of them happened long before")
	cmd.Flags().StringVar(&url, "url", "http://127.0.0.1:8081", "the processes that serve, with commas between")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if t.lines < 1 || t.families < 0 || t.events < 1 || t.rate < 0 {
			return usageError{errors.New("--lines and --events are at least 1, --families and --rate at least 0")}
		}
		if t.duplicates, err = share("duplicates", duplicates); err != nil {
			return err
		}
		if t.late, err = share("late", late); err != nil {
			return err
		}
		for each := range strings.SplitSeq(url, ",") {
			t.urls = append(t.urls, strings.TrimRight(strings.TrimSpace(each), "/"))
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		c, err := flags.load(keyRedis, keyLedger)
		if err != nil {
			return err
		}
		if t.token, err = readToken(c.TokenFile); err != nil {
			return err
		}
		m, err := openLedger(ctx, c, newLogger(cmd.ErrOrStderr(), c.Log))
		if err != nil {
			return err
		}
		t.retention = c.Retention
		return errors.Join(runLoad(ctx, cmd, m, t), m.close())
	}
	return cmd
}

func runLoad(ctx context.Context, cmd *cobra.Command, m *meterParts, t *traffic) error {
	out := cmd.OutOrStdout()
	if err := m.settle(ctx, t); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d lines and %d families can be used\n", t.lines, t.families)
	began := time.Now()
	events, err := t.send(ctx)
	if err != nil {
		return err
	}
	sent := time.Since(began)
	if err := m.drained(ctx); err != nil {
		return err
	}
	done := time.Since(began)
	decided, err := m.decided(ctx, events)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d events, sent %d times in %v, of which %d had to be sent again; all in the done log after %v: %.0f a second\n",
		len(events), t.tally.Sent, sent.Round(time.Millisecond), t.tally.Again, done.Round(time.Millisecond), float64(len(events))/done.Seconds())
	for reason, n := range t.tally.Refused {
		fmt.Fprintf(out, "refused: %s %d times\n", reason, n)
	}
	if decided != len(events) {
		return fmt.Errorf("%d of %d events are in the done log: look at `reprise meter dead-letters list`", decided, len(events))
	}
	return nil
}

// enroll adds the lines of the traffic to SQL.
func (m *meterParts) enroll(ctx context.Context, t *traffic) error {
	families, lines, apps := t.household()
	if err := m.ledger.Import(ctx, families, nil, apps); err != nil {
		return err
	}
	for part := range slices.Chunk(lines, meterledger.MaxBatch) {
		if err := m.ledger.Import(ctx, nil, part, nil); err != nil {
			return err
		}
	}
	return nil
}

// settle adds the lines of the traffic, and sees to it that they can be used.
func (m *meterParts) settle(ctx context.Context, t *traffic) error {
	if err := m.enroll(ctx, t); err != nil {
		return err
	}
	if _, err := m.keeper().OpenMonths(ctx); err != nil {
		return err
	}
	err := m.openRedis(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err = m.hydrate(ctx, "reprise meter load", "nothing was there", false); err == nil {
			err = m.openRedis(ctx)
		}
	}
	if err == nil {
		_, err = m.keeper().Confirm(ctx)
	}
	return err
}
