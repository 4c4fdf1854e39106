package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/restore"
)

// starting is `reprise restore start`.
type starting struct {
	*restoring
	failedAt string
	workers  int
	rate     int64
	dryRun   bool
	again    bool
	json     bool
}

func newRestoreStartCommand(r *restoring) *cobra.Command {
	s := &starting{restoring: r}
	cmd := &cobra.Command{
		Use:   "start --plan meter",
		Short: "Restore, or go on with a restore that stopped",
		Long: "Closes the gate, begins a new generation, writes all of Redis from SQL phase by phase, verifies all of it, and opens the gate.\n" +
			"The same command goes on with one that stopped. It ends when the restore does; Ctrl-C ends it too, and leaves the restore where it is.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			open := r.on
			if s.dryRun {
				open = r.looking
			}
			return open(s.run)(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&s.failedAt, "failure-time", "", "when Redis lost its data, as 2026-03-01T03:00:00Z; without it, now")
	flags.IntVar(&s.workers, "workers", 2, "how many targets this process writes at once")
	flags.Int64Var(&s.rate, "rate", 0, "how many units a second each worker writes at most; 0 is no limit, or that of the restore that goes on")
	flags.BoolVar(&s.dryRun, "dry-run", false, "say what would be done, and write nothing")
	flags.BoolVar(&s.again, "again", false, "restore also what is complete already")
	flags.BoolVar(&s.takeOver, "take-over", false, "restore also a Redis with a generation that this SQL has never had: another installation's, or one that is newer than a restored SQL")
	flags.BoolVar(&s.json, "json", false, "print progress as JSON, a line each")
	return cmd
}

func (s *starting) run(cmd *cobra.Command, at *restorePlace) error {
	request := restore.Request{Who: s.name(), Why: s.reason(), Rate: s.rate, Again: s.again}
	if s.failedAt != "" {
		var err error
		if request.FailedAt, err = time.Parse(time.RFC3339, s.failedAt); err != nil {
			return usageError{fmt.Errorf("--failure-time %q is no time: write it as 2026-03-01T03:00:00Z", s.failedAt)}
		}
	}
	if s.dryRun {
		return assess(cmd.Context(), cmd.OutOrStdout(), at, s.json)
	}
	plan := at.newPlan(s.restoring)
	defer plan.Close()
	runner := at.runner(plan, processName(), s.workers)
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	session, resumed, err := s.start(ctx, cmd.ErrOrStderr(), at, runner, request)
	say := cmd.OutOrStdout()
	if s.json { // where words are not for whoever reads it
		say = cmd.ErrOrStderr()
	}
	if errors.Is(err, restore.ErrComplete) {
		fmt.Fprintln(say, err)
		return s.complete(cmd.Context(), cmd.OutOrStdout(), at, session)
	}
	if err != nil {
		return err
	}
	if resumed {
		fmt.Fprintf(say, "session %d goes on, begun by %s at %s\n", session.ID, session.Who, session.StartedAt.Format(time.RFC3339))
	} else {
		fmt.Fprintf(say, "session %d begins\n", session.ID)
	}
	return work(cmd, at, runner, s.json)
}

// complete prints how the session went that has restored everything, for whoever reads JSON.
func (s *starting) complete(ctx context.Context, out io.Writer, at *restorePlace, session restore.Session) error {
	if !s.json {
		return nil
	}
	progress, err := at.sessions.Progress(ctx, session.ID)
	if err != nil {
		return err
	}
	return printProgress(out, progress, true)
}

// start begins or resumes a session. One whose manager gives no sign may have died: that is known when its lease ends, and waited for.
func (s *starting) start(ctx context.Context, say io.Writer, at *restorePlace, runner *restore.Runner, request restore.Request) (restore.Session, bool, error) {
	var seen restore.Session
	for {
		session, resumed, err := runner.Start(ctx, request)
		if !errors.Is(err, restore.ErrRunning) {
			return session, resumed, err
		}
		last, failure := at.sessions.Last(ctx, planName)
		if failure != nil || !last.Led {
			continue // it ended in between
		}
		if seen.ID == last.ID && last.HeartbeatAt.After(seen.HeartbeatAt) {
			return session, false, fmt.Errorf("%w; its manager lives: help it with `reprise restore work`", err)
		}
		if seen.ID != last.ID {
			seen = last
			fmt.Fprintf(say, "session %d is managed by %s, whose last sign was %v ago.\nIf that process has died, this one goes on in %v, when the lease ends. If it lives it gives a sign before.\n",
				last.ID, last.Owner, last.Now.Sub(last.HeartbeatAt).Round(time.Second), leaseLeft(last))
		}
		select {
		case <-ctx.Done():
			return session, false, err
		case <-time.After(time.Second):
		}
	}
}

// leaseLeft is for how long the manager of a session is waited for, if it gives no sign.
func leaseLeft(v restore.Session) time.Duration {
	return max(0, restoreLease-v.Now.Sub(v.HeartbeatAt)).Round(time.Second)
}

func newRestoreWorkCommand(r *restoring) *cobra.Command {
	workers, asJSON := 2, false
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Help with the restore that runs, and manage it if nobody does",
		Args:  noArguments,
		RunE: r.on(func(cmd *cobra.Command, at *restorePlace) error {
			plan := at.newPlan(r)
			defer plan.Close()
			return work(cmd, at, at.runner(plan, processName(), workers), asJSON)
		}),
	}
	cmd.Flags().IntVar(&workers, "workers", 2, "how many targets this process writes at once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print progress as JSON, a line each")
	return cmd
}

// work works until the session is over, and prints progress meanwhile.
func work(cmd *cobra.Command, at *restorePlace, runner *restore.Runner, asJSON bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	watching, end := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		watch(watching, cmd.OutOrStdout(), nil, at, asJSON)
	}()
	session, err := runner.Work(ctx)
	end()
	<-watched
	if ctx.Err() != nil {
		return errors.New("stopped before the restore was complete, and the gate is as it was left: `reprise restore start` or `reprise restore work` goes on")
	}
	if err != nil {
		return err
	}
	return over(cmd.Context(), cmd.OutOrStdout(), at, session, asJSON)
}

// over says how a session ended, and with which exit code.
func over(ctx context.Context, out io.Writer, at *restorePlace, session restore.Session, asJSON bool) error {
	progress, err := at.sessions.Progress(ctx, session.ID)
	if err != nil {
		return err
	}
	if err := printProgress(out, progress, asJSON); err != nil {
		return err
	}
	if session.State != restore.Finished {
		return fmt.Errorf("session %d is %s: %s", session.ID, session.State, session.Reason)
	}
	o, err := at.outcomeOf(ctx, progress)
	if err != nil {
		return err
	}
	if !asJSON {
		printEvents(out, o)
	}
	return exitOf(o.counts, progress.Quarantined())
}

// mostEvents is how many events are printed; the certificate prints all.
const mostEvents = 20

// printEvents says which events wait and which are lost.
func printEvents(out io.Writer, o outcome) {
	for _, f := range o.events[:min(len(o.events), mostEvents)] {
		printFinding(out, f)
	}
}

func newRestorePauseCommand(r *restoring) *cobra.Command {
	return newRestoreSwitch(r, r.onSQL, "pause", "Keep the restore from going on; what is under way ends", (*restore.Runner).Pause)
}

func newRestoreResumeCommand(r *restoring) *cobra.Command {
	return newRestoreSwitch(r, r.onSQL, "resume", "Let it go on", (*restore.Runner).Resume)
}

// newRestorePaceCommand is for a restore that is in the way of others, or could be faster.
func newRestorePaceCommand(r *restoring) *cobra.Command {
	var rate int64
	var batch int
	cmd := &cobra.Command{
		Use: "pace --rate R", Short: "Change how fast the restore goes", Args: noArguments,
		Long: "Changes how many units a second each worker writes at most, and how many targets it takes at once. Workers learn of it with the\nnext targets that they take.",
		RunE: r.onSQL(func(cmd *cobra.Command, at *restorePlace) error {
			if !cmd.Flags().Changed("rate") {
				return usageError{errors.New("say how fast: --rate UNITS a second and worker, 0 for no limit")}
			}
			plan := at.newPlan(r)
			defer plan.Close()
			return at.runner(plan, processName(), 1).Pace(cmd.Context(), 0, rate, batch, r.name())
		}),
	}
	cmd.Flags().Int64Var(&rate, "rate", 0, "how many units a second each worker writes at most; 0 is no limit")
	cmd.Flags().IntVar(&batch, "batch", 0, "how many targets a worker takes at once; 0 leaves it as it is")
	return cmd
}

// newRestoreCancelCommand needs Redis too: late writes are shut out there.
func newRestoreCancelCommand(r *restoring) *cobra.Command {
	return newRestoreSwitch(r, r.on, "cancel", "End it without completing it; the gate stays closed", (*restore.Runner).Cancel)
}

func newRestoreSwitch(r *restoring, open func(func(*cobra.Command, *restorePlace) error) func(*cobra.Command, []string) error, name, short string, do func(*restore.Runner, context.Context, int64, string, string) error) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: noArguments,
		RunE: open(func(cmd *cobra.Command, at *restorePlace) error {
			plan := at.newPlan(r)
			defer plan.Close()
			return do(at.runner(plan, processName(), 1), cmd.Context(), 0, r.name(), r.reason())
		}),
	}
}
