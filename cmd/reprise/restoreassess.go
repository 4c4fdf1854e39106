package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

func newRestoreAssessCommand(r *restoring) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "assess",
		Short: "Say what Redis has lost, if anything; change nothing",
		Args:  noArguments,
		RunE: r.looking(func(cmd *cobra.Command, at *restorePlace) error {
			return assess(cmd.Context(), cmd.OutOrStdout(), at, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// mostShown is how many differences are printed.
const mostShown = 20

// assess says what Redis is worth, and what a restore would do. It writes nothing.
func assess(ctx context.Context, out io.Writer, at *restorePlace, asJSON bool) error {
	now, err := at.ledger.Now(ctx)
	if err != nil {
		return err
	}
	i, done := at.inspector(ctx)
	defer done()
	a, err := i.Assess(ctx, now, patience)
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(out).Encode(a)
	} else {
		printAssessment(out, a)
	}
	if err != nil || a.Verdict == inspect.Intact {
		return err
	}
	return codeError{fmt.Errorf("this Redis is %s", a.Verdict), worthExit(a)}
}

// worthExit is the exit code of what is not intact.
func worthExit(a inspect.Assessment) int {
	switch {
	case a.Verdict == inspect.Unreachable || a.Verdict == inspect.Unreadable:
		return exitUnreadable
	case a.Hidden > 0:
		return exitDifferent | exitUnreadable
	}
	return exitDifferent
}

func printAssessment(out io.Writer, a inspect.Assessment) {
	fmt.Fprintf(out, "SQL:   generation %s, %d units (%d families, %d lines without one), gate %s\n", a.Generation, a.Units, a.Families, a.LoneLines, a.Gate)
	fmt.Fprintf(out, "Redis: %s: %s\n", a.Verdict, a.Detail)
	for _, d := range a.Differences[:min(len(a.Differences), mostShown)] {
		fmt.Fprintln(out, "  "+printable(d))
	}
	if more := len(a.Differences) - mostShown; more > 0 {
		fmt.Fprintf(out, "  and %d more: `reprise restore verify` prints all\n", more)
	}
	fmt.Fprintf(out, "keys:  %-24s %12s %12s\n", "family", "in Redis", "as SQL says")
	for _, k := range a.Keys {
		is := "unknown"
		if k.Redis >= 0 {
			is = strconv.FormatInt(k.Redis, 10)
		}
		fmt.Fprintf(out, "       %-24s %12s %12d\n", k.Family, is, k.Expected)
	}
	if l := a.Lost; l.Events > 0 {
		fmt.Fprintf(out, "lost:  what %d recorded events have changed, of %s to %s: %v individual, %v shared and %v QoS bytes; all of it is in SQL, and is restored\n",
			l.Events, l.First.UTC().Format(time.RFC3339), l.Last.UTC().Format(time.RFC3339), l.Individual, l.Shared, l.QoS)
	}
	if a.GrantedTooMuch {
		fmt.Fprintln(out, "       while the gate was open balances were too high by that much: up to so much was granted twice")
	}
	if a.Unrecorded > 0 {
		fmt.Fprintf(out, "       %d changes in Redis have no row in SQL: they are on their way, or their worker has died. Whether they count is uncertain\n", a.Unrecorded)
	}
	if a.Waiting > 0 {
		fmt.Fprintf(out, "       %d events wait in the durable inbox, and are decided once\n", a.Waiting)
	}
	fmt.Fprintln(out, "next: "+nextOf(a))
}

// nextOf says what is to be done.
func nextOf(a inspect.Assessment) string {
	switch a.Verdict {
	case inspect.Intact:
		return "nothing is to be restored"
	case inspect.Unreachable:
		return "start Redis, or put right how it is reached; a restore waits for it"
	case inspect.Unreadable:
		return "see why it cannot be read, such as a right that its user lacks, and assess it again; what it holds nobody knows"
	}
	return fmt.Sprintf("`reprise restore start` closes the gate, writes %d units from SQL, verifies them and opens the gate", a.Units)
}

func newRestoreCertificateCommand(r *restoring) *cobra.Command {
	return &cobra.Command{
		Use:   "certificate [ID]",
		Short: "What was restored, by whom, and a digest of what Redis holds now",
		Long:  "Only of a restore that is complete, and whose generation Redis and SQL still have: of any other nothing is certified, and the exit code is not 0.",
		Args:  atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.looking(func(cmd *cobra.Command, at *restorePlace) error { return certify(cmd, at, args) })(cmd, nil)
		},
	}
}

// certifiable returns an error if a session has not come to where everything is verified.
func certifiable(session restore.Session) error {
	switch {
	case session.Plan != planName:
		return codeError{fmt.Errorf("session %d has verified, and restored nothing: nothing is certified", session.ID), exitSkipped}
	case session.State != restore.Finished:
		return codeError{fmt.Errorf("session %d is %s, and not complete: what Redis holds is not verified, and nothing is certified", session.ID, session.State), exitSkipped}
	}
	return nil
}

// current returns an error if Redis or SQL has another generation now than a session has made: what that has verified is gone.
func (at *restorePlace) current(ctx context.Context, m *meterredis.Meter, session restore.Session) error {
	is, err := m.Reread(ctx)
	if err != nil {
		return err
	}
	believed, err := at.ledger.Generation(ctx)
	if made := meter.Generation(session.Generation); err == nil && (is != made || believed != made) {
		err = codeError{fmt.Errorf("session %d has made generation %q, Redis has %q now, and SQL believes in %q: what was verified is gone, and nothing is certified. Look with `reprise restore assess`",
			session.ID, made, is, believed), exitDifferent}
	}
	return err
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
	if err := certifiable(session); err != nil {
		return err
	}
	i, done := at.inspector(ctx)
	defer done()
	if i.Unopened != nil {
		return codeError{i.Unopened, exitUnreadable}
	}
	if err := at.current(ctx, i.Meter, session); err != nil {
		return err
	}
	state, err := i.Digest(ctx, time.Now())
	if err != nil {
		return err
	}
	if err := at.current(ctx, i.Meter, session); err != nil { // it may have been lost meanwhile
		return err
	}
	fmt.Fprintf(out, "the gate was opened by the process %s, for %s\n", session.Owner, session.Who)
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
