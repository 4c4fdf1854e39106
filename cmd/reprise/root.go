package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/restore"
)

// process is what a command sees of the process it runs in.
type process struct {
	In       io.Reader
	Out, Err io.Writer
	Environ  []string // "NAME=value"
}

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError marks what is wrong with how the program was called, as opposed to what went wrong then.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run executes a command line and returns the exit code. It is main without the process.
func run(ctx context.Context, args []string, p process) int {
	root := newRootCommand(p)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(p.Err, "reprise:", err)
	if makesNoSense(err) {
		return exitUsage
	}
	if coded := (codeError{}); errors.As(err, &coded) {
		return coded.code
	}
	return exitFailed
}

// makesNoSense reports whether it is the command line that is wrong, here or in the words of what it was handed to.
func makesNoSense(err error) bool {
	usage := usageError{}
	return errors.As(err, &usage) || errors.Is(err, admin.ErrInvalid) || errors.Is(err, restore.ErrRequest)
}

func newRootCommand(p process) *cobra.Command {
	root := &cobra.Command{
		Use:   "reprise",
		Short: "Makes retries safe: the same request twice, one effect, the same answer",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		// Errors are printed once, by run, and a mistake is not answered with a page of help.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.In)
	root.SetOut(p.Out)
	root.SetErr(p.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	})
	root.SetHelpCommand(newHelpCommand(root))
	root.AddCommand(
		newProxyCommand(p),
		newDemoCommand(p),
		newOpsCommand(p),
		newMigrateCommand(p),
		newStoreCommand(p),
		newMeterCommand(p),
		newRestoreCommand(p),
		newServeCommand(p),
		newConfigCommand(p),
		newVersionCommand(),
	)
	foldHelp(root)
	return root
}

// newHelpCommand is `reprise help`, which refuses what it does not know, as every command does.
func newHelpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil {
				err = noArguments(cmd, rest)
			}
			if err != nil {
				return usageError{err}
			}
			return cmd.Help()
		},
	}
}

// noArguments refuses arguments, and so names an unknown command as one.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", near[0])
	}
	return usageError{fmt.Errorf("%s does not know %q%s (see %s --help)", cmd.CommandPath(), args[0], hint, cmd.CommandPath())}
}

// exactly refuses another number of arguments, and names what is expected.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usageError{fmt.Errorf("%s takes %q and got %d arguments (see %s --help)", cmd.CommandPath(), names, len(args), cmd.CommandPath())}
	}
}

// atMostOne refuses a second argument.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("%s takes one argument at most and got %d (see %s --help)", cmd.CommandPath(), len(args), cmd.CommandPath())}
	}
	return nil
}
