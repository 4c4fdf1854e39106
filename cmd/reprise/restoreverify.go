package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// verifying is `reprise restore verify`.
type verifying struct {
	*restoring
	correct bool
	dryRun  bool
	sample  float64
	patient time.Duration
}

func newRestoreVerifyCommand(r *restoring) *cobra.Command {
	v := &verifying{restoring: r}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare Redis with SQL; with --correct put right what differs",
		Long: "Reads every key that SQL expects, with its type, its fields and its expiry, and looks for keys that nobody expects. It may run beside\n" +
			"traffic: what SQL does not have yet is unflushed, and is never corrected. A key is put right in one step, if it still is as it was\n" +
			"judged, and verified again; what was replaced is kept for `reprise restore undo`. Without --correct nothing is written, in neither\n" +
			"database. A sample looks at some ranges of units, and not for keys that nobody expects.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(v.sample >= 0 && v.sample <= 1) { // NaN is neither
				return usageError{fmt.Errorf("--sample %v is no part of the whole: write a number above 0, up to 1", v.sample)}
			}
			open := r.looking
			if v.correct && !v.dryRun {
				open = r.on
			}
			return open(untilStopped(v.run))(cmd, nil)
		},
	}
	cmd.Flags().BoolVar(&v.correct, "correct", false, "put right what differs, and keep what was there")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "write nothing, also with --correct")
	cmd.Flags().Float64Var(&v.sample, "sample", 0, "which part of all ranges of units is looked at, such as 0.1; 0 is all")
	cmd.Flags().DurationVar(&v.patient, "patience", 10*time.Second, "how long to wait for what is under way")
	return cmd
}

func (v *verifying) run(cmd *cobra.Command, at *restorePlace) error {
	out := cmd.OutOrStdout()
	plan := at.newPlan(v.restoring)
	defer plan.Close()
	plan.Sample, plan.Patience = v.sample, max(v.patient, time.Millisecond)
	request := restore.CheckRequest{Who: v.name(), Why: v.reason(), Correct: v.correct && !v.dryRun, Found: func(f restore.Finding) { printFinding(out, f) }}
	done, err := at.runner(plan, processName(), 2).Check(cmd.Context(), request)
	if errors.Is(err, store.ErrLost) {
		return codeError{fmt.Errorf("%w: look with `reprise restore assess`", err), exitUnreadable}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d units of generation %s: %s\n", done.Units, done.Generation, countsOf(done.Findings))
	if done.Findings[restore.Corrected] > 0 {
		fmt.Fprintf(out, "what was replaced is kept: `reprise restore undo %d` puts it back\n", done.Session)
	}
	return exitOf(done.Findings, 0)
}

func printFinding(out io.Writer, f restore.Finding) {
	fmt.Fprintf(out, "%-11s %s: %s\n", f.Outcome, printable(f.Item), printable(f.Detail))
}

// countsOf says how many there are of each outcome.
func countsOf(findings map[restore.Outcome]int64) string {
	var parts []string
	for outcome, n := range findings {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	if len(parts) == 0 {
		return "all equal"
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}

// exitOf returns an error with the exit code of findings, and of so many units in quarantine; nil if all is equal or put right.
func exitOf(findings map[restore.Outcome]int64, quarantined int64) error {
	code := 0
	for outcome, n := range findings {
		if n == 0 {
			continue
		}
		switch outcome {
		case restore.Different, restore.Missing, restore.Extra, restore.Undone:
			code |= exitDifferent
		case restore.Unflushed, restore.Skipped:
			code |= exitSkipped
		case restore.Unreadable:
			code |= exitUnreadable
		case restore.Quarantined:
			code |= exitQuarantined
		case restore.Lost:
			code |= exitLost
		}
	}
	if quarantined > 0 {
		code |= exitQuarantined
	}
	if code == 0 {
		return nil
	}
	what := "verification says: " + countsOf(findings)
	if quarantined > 0 {
		what = fmt.Sprintf("%d units are in quarantine, and %s", quarantined, what)
	}
	return codeError{errors.New(what), code}
}

// outcome is what became of a session's findings: those of its last round, all that was corrected or undone, and events that wait or are lost.
type outcome struct {
	counts map[restore.Outcome]int64
	events []restore.Finding
}

// outcomeOf reads all findings of a session. What was found in more than one round counts once.
func (at *restorePlace) outcomeOf(ctx context.Context, p restore.Progress) (o outcome, err error) {
	o.counts = maps.Clone(p.Findings)
	for _, of := range []restore.Outcome{restore.Corrected, restore.Undone, restore.Lost, restore.Waiting} {
		delete(o.counts, of)
	}
	found := foundEvents{wait: int(p.Findings[restore.Waiting])}
	for after := int64(0); ; {
		page, err := at.sessions.Findings(ctx, p.Session.ID, after, 1000)
		if err != nil || len(page) == 0 {
			o.events = append(found.lost, found.waiting...)
			o.counts[restore.Lost], o.counts[restore.Waiting] = int64(len(found.lost)), int64(len(found.waiting))
			return o, err
		}
		for _, f := range page {
			after = f.ID
			switch f.Outcome {
			case restore.Corrected, restore.Undone:
				o.counts[f.Outcome]++
			case restore.Lost, restore.Waiting:
				found.take(f)
			}
		}
	}
}

// foundEvents are the events that a session has found, in all of its rounds. What was lost in one is lost. What waits is what the last round has
// found, and that is the end of it: what waited before may have gone with Redis since.
type foundEvents struct {
	wait          int // how many findings of the last round wait
	lost, waiting []restore.Finding
	known         map[string]bool // which are lost
}

// take is called with the findings in their order.
func (e *foundEvents) take(f restore.Finding) {
	if f.Outcome == restore.Waiting {
		e.waiting = append(e.waiting, f)
		e.waiting = e.waiting[max(0, len(e.waiting)-e.wait):]
		return
	}
	if e.known == nil {
		e.known = map[string]bool{}
	}
	if !e.known[f.Item] {
		e.known[f.Item] = true
		e.lost = append(e.lost, f)
	}
}

func newRestoreUndoCommand(r *restoring) *cobra.Command {
	return &cobra.Command{
		Use:   "undo [ID]",
		Short: "Put back what corrections have replaced",
		Long:  "What has changed since it was corrected is left. It ends with exit code 0 if everything was put back.",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.on(func(cmd *cobra.Command, at *restorePlace) error { return undo(cmd, at, r, args) })(cmd, nil)
		},
	}
}

func undo(cmd *cobra.Command, at *restorePlace, r *restoring, args []string) error {
	id, err := sessionNumber(args)
	if err != nil {
		return err
	}
	plan := at.newPlan(r)
	defer plan.Close()
	out := cmd.OutOrStdout()
	undone, left, err := at.runner(plan, processName(), 1).Undo(cmd.Context(), id, func(f restore.Finding) { printFinding(out, f) })
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d put back, %d left\n", undone, left)
	if left > 0 {
		return codeError{fmt.Errorf("%d have changed since they were corrected, and are left", left), exitSkipped}
	}
	return nil
}

// sessionNumber reads the argument of a command; 0 for none.
func sessionNumber(args []string) (int64, error) {
	if len(args) == 0 {
		return 0, nil
	}
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || id < 1 {
		return 0, usageError{fmt.Errorf("%q is not the number of a session", args[0])}
	}
	return id, nil
}

// session returns the one that an argument names, or the last restore.
func (at *restorePlace) session(ctx context.Context, args []string) (restore.Session, error) {
	id, err := sessionNumber(args)
	switch {
	case err != nil:
		return restore.Session{}, err
	case at.sessions == nil:
		return restore.Session{}, restore.ErrNone
	case id > 0:
		return at.sessions.Session(ctx, id)
	}
	return at.sessions.Last(ctx, planName)
}
