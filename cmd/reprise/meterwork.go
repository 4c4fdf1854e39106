package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

func newMeterImportCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Add families, lines and apps to the ledger, all or nothing",
		Long: "The first line of the file is " + importColumns + ". A family has shared, a line family (empty for none), individual and qos,\n" +
			"an app its id alone. Amounts are bytes a month; plans of who is there already are changed, and count from the next month that is opened.\n" +
			"A process that serves opens the months of what is new within a minute.",
		Example: "  " + importColumns + "\n  family,smith,,,,20000000000\n  line,+4915112345,smith,5000000000,1000000000,\n  app,video,,,,",
		Args:    exactly("FILE.csv"),
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		file, err := os.Open(args[0])
		if err != nil {
			return usageError{err}
		}
		defer func() { _ = file.Close() }() // it was read
		all, err := readImport(args[0], file)
		if err != nil {
			return err
		}
		return onLedger(cmd, flags, func(ctx context.Context, m *meterParts) error {
			if err := importAll(ctx, m.ledger, args[0], all); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "imported %d families, %d lines, %d apps\n", len(all.families), len(all.lines), len(all.apps))
			return err
		})
	}
	return cmd
}

// importAll checks against the ledger, and imports.
func importAll(ctx context.Context, ledger *meterledger.Ledger, name string, all *imported) error {
	ids, families := all.ids()
	lines := map[string]meterledger.Line{}
	for part := range slices.Chunk(ids, meterledger.MaxBatch) {
		known, err := ledger.Lines(ctx, part)
		if err != nil {
			return err
		}
		maps.Copy(lines, known)
	}
	known, err := ledger.Families(ctx, families)
	if err != nil {
		return err
	}
	if err := all.against(name, lines, known); err != nil {
		return err
	}
	return ledger.Import(ctx, all.families, all.lines, all.apps)
}

func newMeterHydrateCommand(p process) *cobra.Command {
	var who, why string
	var renew bool
	cmd := &cobra.Command{
		Use:   "hydrate",
		Short: "Fill Redis from SQL: the first time, and when it was lost",
		Long: "Closes the gate, begins a new generation, writes every family and line as SQL says, and opens the gate. What was in Redis before\n" +
			"counts for nothing; what processes hold that was decided before is refused, and decided again. A hydration that stopped is begun anew.\n" +
			"A Redis that is complete and open is left as it is, unless --renew says otherwise. With --renew it also gives the ledger the configured\n" +
			"retention and tolerance, which are the same for every process: stop those that serve first, and start them so configured afterwards.",
		Args: noArguments,
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().StringVar(&who, "who", "reprise meter hydrate", "who hydrates, which is kept")
	cmd.Flags().StringVar(&why, "why", "hydration", "on what grounds, which is kept")
	cmd.Flags().BoolVar(&renew, "renew", false, "hydrate also a Redis that is complete and open")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := flags.load(keyRedis, keyLedger)
		if err != nil {
			return err
		}
		m, err := openAnyLedger(cmd.Context(), c, newLogger(cmd.ErrOrStderr(), c.Log))
		if err != nil {
			return err
		}
		done, err := m.hydrate(cmd.Context(), who, why, renew)
		out := cmd.OutOrStdout()
		switch {
		case errors.Is(err, pipeline.ErrHydrated):
			_, err = fmt.Fprintf(out, "nothing to do: %v\n", err)
		case err == nil:
			_, err = fmt.Fprintf(out, "generation %s: %d units, %d grants; the gate is open\n", done.Generation, done.Units, done.Grants)
		}
		return errors.Join(err, m.close())
	}
	return cmd
}

// hydrate fills Redis.
func (m *meterParts) hydrate(ctx context.Context, who, why string, renew bool) (pipeline.Hydrated, error) {
	done, err := pipeline.Hydrate(ctx, pipeline.Hydration{
		Ledger: m.ledger, Redis: m.config.Redis, Log: m.log, Calendar: m.calendar, Horizon: m.horizon, Who: who, Why: why, Renew: renew,
	})
	return done, otherTerms(err)
}

func newMeterOpenMonthCommand(p process) *cobra.Command {
	var month string
	cmd := &cobra.Command{
		Use:   "open-month [--month M]",
		Short: "Grant everybody the allowances of a month",
		Long: "Makes the monthly grant of each family and line that has none yet, from its plan. Without --month it does so for every month that is\n" +
			"due: those of events that are accepted, and the one that begins within 48 hours. Processes that serve do it by themselves, and bring\n" +
			"the grants to Redis.",
		Args: noArguments,
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().StringVar(&month, "month", "", "the month, yyyyMM")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		wanted, err := monthFlag(month)
		if err != nil {
			return err
		}
		return onLedger(cmd, flags, func(ctx context.Context, m *meterParts) (err error) {
			var made int64
			if err = m.ledger.KeepTerms(ctx, m.terms()); err != nil {
				return err
			}
			if wanted == 0 {
				made, err = m.keeper().OpenMonths(ctx)
			} else {
				made, err = m.ledger.OpenMonth(ctx, wanted)
			}
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "made %d grants\n", made)
			}
			return err
		})
	}
	return cmd
}

// monthFlag reads a month; 0 if there is none.
func monthFlag(text string) (meter.Month, error) {
	if text == "" {
		return 0, nil
	}
	m, err := meter.ParseMonth(text)
	if err != nil {
		return 0, usageError{fmt.Errorf("--month: %w", err)}
	}
	return m, nil
}

func newMeterFoldCommand(p process) *cobra.Command {
	var day string
	cmd := &cobra.Command{
		Use:   "fold [--day D]",
		Short: "Sum up the done log into daily totals and monthly snapshots",
		Long: "Takes rows in that no fold has taken in, of all days up to --day; without it up to yesterday. Each row is counted once, also beside\n" +
			"other folds and traffic. Processes that serve do it every minute.",
		Args: noArguments,
	}
	flags := addMeterFlags(cmd, p, false)
	cmd.Flags().StringVar(&day, "day", "", "the last day that is summed up, yyyyMMdd")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var through meter.Day
		if day != "" {
			var err error
			if through, err = meter.ParseDay(day); err != nil {
				return usageError{fmt.Errorf("--day: %w", err)}
			}
		}
		return onLedger(cmd, flags, func(ctx context.Context, m *meterParts) error {
			now, err := m.ledger.Now(ctx)
			if err != nil {
				return err
			}
			if through == 0 {
				through = m.calendar.Day(now).Previous()
			}
			done, err := m.ledger.Fold(ctx, meterledger.FoldOptions{Through: through})
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "summed up %d rows, of days up to %v\n", done.Rows, through)
			}
			return err
		})
	}
	return cmd
}
