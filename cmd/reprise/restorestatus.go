package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/restore"
)

func newRestoreStatusCommand(r *restoring) *cobra.Command {
	follow, asJSON := false, false
	cmd := &cobra.Command{
		Use:   "status",
		Short: "How far the restore is, and when traffic may flow",
		Args:  noArguments,
		RunE: r.lookingAtSQL(func(cmd *cobra.Command, at *restorePlace) error {
			last, err := at.session(cmd.Context(), nil)
			if err != nil {
				return fmt.Errorf("%w: begin one with `reprise restore start`", err)
			}
			progress, err := at.sessions.Progress(cmd.Context(), last.ID)
			if err != nil {
				return err
			}
			if !follow {
				return printProgress(cmd.OutOrStdout(), progress, asJSON)
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			watch(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), at, asJSON)
			if progress, err = at.sessions.Progress(cmd.Context(), last.ID); err != nil || !progress.Session.State.Over() || asJSON {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "it is over. next: "+nextStep(progress))
			return err
		}),
	}
	cmd.Flags().BoolVar(&follow, "watch", false, "go on printing, until it is over or Ctrl-C")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// barWidth is that of a progress bar.
const barWidth = 30

// printProgress prints all that is known of a session.
func printProgress(out io.Writer, p restore.Progress, asJSON bool) error {
	if asJSON {
		_, err := fmt.Fprintln(out, progressLine(p, true))
		return err
	}
	s := p.Session
	fmt.Fprintf(out, "session %d of plan %s: %s, begun by %s at %s (%s)\n", s.ID, s.Plan, s.State, s.Who, s.StartedAt.Format(time.RFC3339), s.Why)
	for _, phase := range p.Phases {
		fmt.Fprintf(out, "  %-14s %s %d of %d units\n", phase.Name, bar(phase.UnitsDone+phase.UnitsSkipped, phase.Expected), phase.UnitsDone+phase.UnitsSkipped, phase.Expected)
		if phase.Failed > 0 {
			fmt.Fprintf(out, "  %-14s %d units in quarantine\n", "", phase.UnitsFailed)
		}
	}
	for outcome, n := range p.Findings {
		fmt.Fprintf(out, "  found %d %s\n", n, outcome)
	}
	if s.Trouble != "" {
		fmt.Fprintf(out, "  waits: %s\n", s.Trouble)
	}
	_, err := fmt.Fprintf(out, "next: %s\n", nextStep(p))
	return err
}

func bar(done, of int64) string {
	full := 0
	if of > 0 {
		full = int(min(done, of) * barWidth / of)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", barWidth-full) + "]"
}

// nextStep says in words what comes next.
func nextStep(p restore.Progress) string {
	s := p.Session
	switch {
	case s.State == restore.Finished && p.Quarantined() > 0:
		return fmt.Sprintf("the gate is open; %d units are in quarantine and decide nothing: see what is wrong with them, then `reprise restore start --again`", p.Quarantined())
	case s.State == restore.Finished:
		return "nothing: it is complete, verified, and the gate is open. `reprise restore certificate` proves it"
	case s.State.Over():
		return "the gate is closed: `reprise restore start` begins another restore"
	case s.Paused:
		return fmt.Sprintf("it is paused (%s): `reprise restore resume`", s.Reason)
	case !s.Led:
		return "nobody manages it: `reprise restore work` goes on"
	case s.Now.Sub(s.HeartbeatAt) > restoreLease/2:
		return fmt.Sprintf("its manager, %s, has given no sign for %v: if it has died, `reprise restore start` goes on in %v", s.Owner, s.Now.Sub(s.HeartbeatAt).Round(time.Second), leaseLeft(s))
	case inWords(s.State) != "":
		return inWords(s.State) + "; then the rest, and the gate opens by itself when everything is verified"
	case p.Known:
		return fmt.Sprintf("about %v left, %v to %v at %.0f units a second; then the gate opens by itself", p.Left.Round(time.Second), p.Least.Round(time.Second), p.Most.Round(time.Second), p.Rate)
	}
	return "wait: the gate opens by itself when everything is verified"
}

// inWords says what is done in a state in which no targets are worked on; empty in the others.
func inWords(s restore.State) string {
	switch s {
	case restore.Closing:
		return "wait: the gate is being closed"
	case restore.Draining:
		return "wait: what was let through the gate ends, which takes as long as a worker may need for an event (`take-over:`), and a second"
	case restore.Renewing:
		return "wait: a new generation begins in SQL and in Redis"
	case restore.Planning:
		return "wait: what is to be written is listed"
	case restore.Correcting:
		return "wait: what verification found is put right"
	case restore.Cleaning, restore.Reopening:
		return "wait: all is verified, and the gate is being opened"
	}
	return ""
}

// progressLine is a line of progress.
func progressLine(p restore.Progress, asJSON bool) string {
	if asJSON {
		text, err := json.Marshal(p)
		if err != nil {
			return fmt.Sprintf("{%q: %q}", "error", err)
		}
		return string(text)
	}
	s := p.Session
	var parts []string
	for _, phase := range p.Phases {
		parts = append(parts, fmt.Sprintf("%s %d/%d", phase.Name, phase.UnitsDone+phase.UnitsSkipped, phase.Expected))
	}
	line := strings.TrimSpace(fmt.Sprintf("%s  %s", s.State, strings.Join(parts, "  ")))
	if s.Trouble != "" {
		line += "  waits: " + s.Trouble
	}
	return line
}
