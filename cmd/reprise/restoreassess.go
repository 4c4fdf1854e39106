package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/store"
)

func newRestoreAssessCommand(r *restoring) *cobra.Command {
	return &cobra.Command{
		Use:   "assess",
		Short: "Is Redis intact, stale, partial or empty? Changes nothing",
		Args:  noArguments,
		RunE: r.looking(func(cmd *cobra.Command, at *restorePlace) error {
			return assess(cmd.Context(), cmd.OutOrStdout(), at)
		}),
	}
}

// mostShown is how many differences are printed.
const mostShown = 20

// assess says what Redis is worth, and what a restore would do. It writes nothing.
func assess(ctx context.Context, out io.Writer, at *restorePlace) error {
	now, err := at.ledger.Now(ctx)
	if err != nil {
		return err
	}
	g, err := at.ledger.Generation(ctx)
	if err != nil {
		return err
	}
	counts, err := at.ledger.Counts(ctx)
	if err != nil {
		return err
	}
	policies, err := at.ledger.Policies(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "SQL:   generation %s, %d units (%d families, %d lines without one), gate %s\n", g, counts.Families+counts.LoneLines, counts.Families, counts.LoneLines, policies.Global.Get(meter.Gate).Text())
	i, done := at.inspector(ctx)
	defer done()
	verdict, detail, differences := worth(ctx, i, g, now)
	fmt.Fprintf(out, "Redis: %s: %s\n", verdict, detail)
	for _, d := range differences[:min(len(differences), mostShown)] {
		fmt.Fprintln(out, "  "+d)
	}
	if verdict == "intact" {
		fmt.Fprintln(out, "next: nothing is to be restored")
		return nil
	}
	if verdict == "unreachable" {
		fmt.Fprintln(out, "next: start Redis, or put right how it is reached; a restore waits for it")
		return codeError{fmt.Errorf("Redis is %s", verdict), exitUnreadable}
	}
	fmt.Fprintf(out, "next: `reprise restore start` closes the gate, writes %d units from SQL, verifies them and opens the gate\n", counts.Families+counts.LoneLines)
	return codeError{fmt.Errorf("Redis is %s", verdict), exitDifferent}
}

// worth says in one word, and in more, what Redis is worth.
func worth(ctx context.Context, i *inspect.Inspector, g meter.Generation, now time.Time) (verdict, detail string, differences []string) {
	switch {
	case errors.Is(i.Unopened, fs.ErrNotExist):
		return "empty", "there is no meter in it", nil
	case errors.Is(i.Unopened, store.ErrLost):
		return "stale", "it is not the server that was accepted: " + i.Unopened.Error(), nil
	case i.Unopened != nil:
		return "unreachable", i.Unopened.Error(), nil
	case i.Meter.Generation() == "":
		return "partial", "its buckets do not have the same generation", nil
	case i.Meter.Generation() != g:
		return "stale", fmt.Sprintf("it has generation %s", i.Meter.Generation()), nil
	}
	report, err := i.Audit(ctx, now, patience)
	if err != nil {
		return "unreadable", err.Error(), nil
	}
	for _, d := range report.Differences {
		differences = append(differences, fmt.Sprintf("%s: is %s, should be %s", d.Where, d.Is, d.Should))
	}
	if len(differences) > 0 {
		return "stale", fmt.Sprintf("%d differences in %d units", len(differences), report.Units), differences
	}
	return "intact", fmt.Sprintf("%d units are as SQL says, and %d were under way", report.Units, len(report.Unflushed)), nil
}

func newRestoreCertificateCommand(r *restoring) *cobra.Command {
	return &cobra.Command{
		Use:   "certificate [ID]",
		Short: "What was restored, by whom, and a digest of what Redis holds now",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.looking(func(cmd *cobra.Command, at *restorePlace) error { return certify(cmd, at, args) })(cmd, nil)
		},
	}
}

func certify(cmd *cobra.Command, at *restorePlace, args []string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	session, err := at.session(ctx, args)
	if err != nil {
		return err
	}
	progress, err := at.sessions.Progress(ctx, session.ID)
	if err != nil {
		return err
	}
	if err := printProgress(out, progress, false); err != nil {
		return err
	}
	i, done := at.inspector(ctx)
	defer done()
	if i.Unopened != nil {
		return codeError{i.Unopened, exitUnreadable}
	}
	state, err := i.Digest(ctx, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "finished at %s; generation %s, %d units\n", session.FinishedAt.Format(time.RFC3339), state.Generation, state.Units)
	var kinds []string
	for kind := range state.Keys {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	for _, kind := range kinds {
		fmt.Fprintf(out, "  %-24s %d keys\n", kind, state.Keys[kind])
	}
	fmt.Fprintf(out, "digest of what Redis holds now: %x\n", state.Digest)
	o, err := at.outcomeOf(ctx, progress)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "verification: %s\n", countsOf(o.counts))
	for _, f := range o.events {
		printFinding(out, f)
	}
	return exitOf(o.counts, progress.Quarantined())
}
