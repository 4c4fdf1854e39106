package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/movestore"
)

// The variables for DSNs that hold a password.
const (
	fromVariable = "REPRISE_STORE_FROM"
	toVariable   = "REPRISE_STORE_TO"
)

// copying is `reprise store copy`.
type copying struct {
	from, to string // DSNs
	verify   bool
	close    bool
}

func newStoreCopyCommand(p process) *cobra.Command {
	c := &copying{}
	cmd := &cobra.Command{
		Use:   "copy --from DSN --to DSN",
		Short: "Copy all records of one store into another, and compare",
		Long: "Copies every record as it is into a store that `reprise store init --new` has made, with the same secret. Processes may go on\n" +
			"meanwhile, with the source or with both (store: {primary: TO, previous: FROM}); the stores' page of the documentation says in which order.\n\n" +
			"What somebody works on is left to a later run. It can be stopped at any time, and called again: what is there already is not written again.\n" +
			"Once processes make new keys in the target, what is left in the source is handed over, and the copy becomes complete.\n\n" +
			"With --verify every record is compared afterwards, and the exit code is 0 only if the copy is complete: then processes may be\n" +
			"started with the target alone.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return c.run(ctx, cmd)
		},
	}
	cmd.Flags().StringVar(&c.from, "from", "", "the store that records are copied from (also "+fromVariable+")")
	cmd.Flags().StringVar(&c.to, "to", "", "the store that they are copied into (also "+toVariable+")")
	cmd.Flags().BoolVar(&c.verify, "verify", false, "compare every record afterwards, and count")
	cmd.Flags().BoolVar(&c.close, "close-source", false, "no process works with the source alone any more: waits a minute, from which on none can make records there")
	for flag, name := range map[*string]string{&c.from: fromVariable, &c.to: toVariable} {
		if dsn := variable(p.Environ, name); dsn != "" {
			*flag = dsn // not as the flag's default, which help prints: it may hold a password
		}
	}
	return cmd
}

// run copies and, if that was asked for, verifies.
func (c *copying) run(ctx context.Context, cmd *cobra.Command) error {
	if c.from == "" || c.to == "" {
		return usageError{errors.New("name both stores: --from DSN --to DSN")}
	}
	if c.from == c.to {
		return usageError{errors.New("--from and --to are the same store")}
	}
	from, err := openNamed(ctx, "--from", c.from)
	if err != nil {
		return err
	}
	to, err := openNamed(ctx, "--to", c.to)
	if err != nil {
		return errors.Join(err, from.Close())
	}
	return errors.Join(c.between(ctx, cmd, from, to), to.Close(), from.Close())
}

// openNamed opens a store that a flag names.
func openNamed(ctx context.Context, flag, dsn string) (*openedStore, error) {
	p, err := placeOf(flag, dsn)
	if err != nil {
		return nil, err
	}
	s, err := p.openStore(ctx, asItIs)
	if errors.Is(err, fs.ErrNotExist) && flag == "--to" {
		return nil, fmt.Errorf("%s: %w\nMake it first, with the secret of the source: reprise store init --new --secret-file FILE --store %s", flag, err, p.argument())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return s, nil
}

func (c *copying) between(ctx context.Context, cmd *cobra.Command, from, to *openedStore) error {
	progress := newProgress(cmd.ErrOrStderr())
	copied, err := movestore.Copy(ctx, from, to, movestore.CopyOptions{Close: c.close, Progress: func(done movestore.Copied) {
		progress.tell(fmt.Sprintf("pass %d: %d records looked at, %d written so far", done.Pass, done.Looked, done.Written))
	}})
	progress.end()
	if err != nil {
		return fmt.Errorf("after %d records were written: %w", copied.Written, err)
	}
	if err := printCounts(cmd.OutOrStdout(), []count{
		{"records in the source", copied.Looked}, {"written", copied.Written}, {"already there", copied.Same},
		{"another one there, kept", copied.Kept}, {"forgotten meanwhile", copied.Over}, {"handed over to the target", copied.Fenced},
		{"in use, left to a later run", copied.InUse}, {"unreadable", copied.Unreadable},
	}); err != nil {
		return err
	}
	if c.verify {
		return c.compare(ctx, cmd, copied, from, to)
	}
	if copied.Unreadable+copied.Kept > 0 {
		return fmt.Errorf("%d records were not copied: see --verify", copied.Unreadable+copied.Kept)
	}
	return nil
}

// maxDifferences is how many are printed.
const maxDifferences = 20

func (c *copying) compare(ctx context.Context, cmd *cobra.Command, copied movestore.Copied, from, to *openedStore) error {
	progress, differences := newProgress(cmd.ErrOrStderr()), 0
	found, err := movestore.Verify(ctx, from, to, movestore.VerifyOptions{
		Progress: func(done movestore.Verified) {
			progress.tell(fmt.Sprintf("compared %d records", done.Looked))
		},
		Difference: func(scope machine.Scope, what string) {
			if differences++; differences <= maxDifferences {
				progress.end()
				fmt.Fprintf(cmd.ErrOrStderr(), "%v (%s): %s\n", scope.Digest, scope.Operation, what)
			}
		},
	})
	progress.end()
	if err != nil {
		return fmt.Errorf("comparing: %w", err)
	}
	if err := printCounts(cmd.OutOrStdout(), []count{
		{"compared", found.Looked}, {"equal in every field", found.Equal}, {"handed over to the target", found.Fenced},
		{"forgotten meanwhile", found.Over}, {"still the source's", found.InUse}, {"missing", found.Missing}, {"different", found.Different},
		{"unreadable", found.Unreadable}, {"records in the target", found.Target},
	}); err != nil {
		return err
	}
	switch {
	case !copied.Made || !found.Made:
		return errors.New("the copy is not complete: new keys are made in the source, or were until a moment ago. Start every process with both stores, wait until new keys are made in the target, and call this again; " +
			"or, if no process works with the source any more, call it with --close-source")
	case found.Missing+found.Different+found.Unreadable > 0:
		return fmt.Errorf("the copy is not right: %d records are missing, %d different, %d unreadable", found.Missing, found.Different, found.Unreadable)
	case found.InUse > 0:
		return fmt.Errorf("the copy is not complete: %d records are still in use in the source: call this again when what runs has ended", found.InUse)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), "complete: every record of the source is the target's. Processes that have both stores may be restarted with the target alone")
	return err
}

// count is a number with what it counts.
type count struct {
	what string
	n    int64
}

func printCounts(out io.Writer, counts []count) error {
	t := newTable(out)
	for _, c := range counts {
		t.row(c.what, strconv.FormatInt(c.n, 10))
	}
	return t.print()
}

// progress tells how far something is: on a terminal in one line, elsewhere every ten seconds in another.
type progress struct {
	out      io.Writer
	terminal bool
	told     time.Time
	open     bool // a line on the terminal is not ended
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, terminal: isTerminal(out), told: time.Now()}
}

func (p *progress) tell(what string) {
	every := 10 * time.Second
	if p.terminal {
		every = 200 * time.Millisecond
	}
	if time.Since(p.told) < every {
		return
	}
	p.told = time.Now()
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", what)
		p.open = true
		return
	}
	fmt.Fprintln(p.out, what)
}

// end ends the line.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
		p.open = false
	}
}
