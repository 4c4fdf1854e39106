package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter/inspect"
)

func newMeterAuditCommand(p process) *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Compute every balance anew from the done log, and compare",
		Long: "Sums up the done log anew, by queries of its own, and compares: usage with grants, daily totals, monthly snapshots, and in Redis\n" +
			"balances, counters and the numbers of changes, of all days and months whose events are accepted. It changes nothing, and may run beside\n" +
			"traffic: a unit is compared when SQL has what Redis has decided. It ends with exit code 0 only if all was compared and is equal.",
		Args: noArguments,
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().DurationVar(&patience, "patience", 30*time.Second, "how long to wait for units that change all the time")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return onMeter(cmd, flags, func(ctx context.Context, m *meterParts) error {
			report, err := m.inspector().Audit(ctx, time.Now(), patience)
			if err != nil {
				return err
			}
			return printReport(cmd.OutOrStdout(), report)
		})
	}
	return cmd
}

// printReport prints what differs. The error says that something does.
func printReport(out io.Writer, r inspect.Report) error {
	for _, d := range r.Differences {
		fmt.Fprintln(out, printable(d.String()))
	}
	for _, tag := range r.Unflushed {
		fmt.Fprintf(out, "unit %s: unflushed: SQL does not have all that Redis has decided, so nothing can be said\n", printable(tag))
	}
	for tag, why := range r.Unreadable {
		fmt.Fprintf(out, "unit %s: %s\n", printable(tag), printable(why))
	}
	fmt.Fprintf(out, "%d units with %d lines in generation %s, %d events, %v bytes served: ", r.Units, r.Lines, r.Generation, r.Events, r.Served)
	if r.Clean() {
		_, err := fmt.Fprintln(out, "no difference")
		return err
	}
	fmt.Fprintf(out, "%d differences, %d units unflushed\n", len(r.Differences), len(r.Unflushed))
	return errors.New("the audit found differences, or could not compare everything")
}
