package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/restore"
)

func newRestoreDrillCommand(r *restoring) *cobra.Command {
	return &cobra.Command{
		Use:   "drill",
		Short: "Restore beside what lives, verify and time it, remove it",
		Long: "Does all of a restore under another prefix in the same Redis, so that how long one takes is a measured number. What lives is not\n" +
			"touched. It takes as much of Redis' memory again.",
		Args: noArguments,
		RunE: r.on(untilStopped(func(cmd *cobra.Command, at *restorePlace) error {
			plan := at.newPlan(r)
			defer plan.Close()
			done, err := plan.Drill(cmd.Context())
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			found := map[restore.Outcome]int64{}
			for n, f := range done.Findings {
				if found[f.Outcome]++; n < mostShown {
					printFinding(out, f)
				}
			}
			if more := len(done.Findings) - mostShown; more > 0 {
				fmt.Fprintf(out, "and %d more\n", more)
			}
			total := done.Phases + done.Verify
			fmt.Fprintf(out, "%d units: written in %v, verified in %v; a restore takes about %v, beside draining\n", done.Units,
				done.Phases.Round(time.Millisecond), done.Verify.Round(time.Millisecond), total.Round(time.Millisecond))
			fmt.Fprintf(out, "the shadow, %d keys, is removed; nothing else was written\n", done.Keys)
			if found[restore.Quarantined] < int64(len(done.Findings)) {
				fmt.Fprintln(out, "SQL may have gone on in between, while events are decided: drill again, or with the gate closed")
			}
			return exitOf(found, 0)
		})),
	}
}
