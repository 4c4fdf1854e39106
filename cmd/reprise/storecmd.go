package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

func newStoreCommand(p process) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Create a store",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStoreInitCommand(p))
	return cmd
}

func newStoreInitCommand(p process) *cobra.Command {
	var dsn string
	var isNew bool
	cmd := &cobra.Command{
		Use:   "init --new",
		Short: "Create a new, empty store and its secret",
		Long: "Creates a store where there is none, and refuses where there is a store, or a database of something else. A secret\n" +
			"that is there without a database is kept. --new says that no key was used before, or that those no longer matter: to the\n" +
			"new store every key is new, and a retry of a request from before runs again.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isNew {
				return usageError{errors.New("say --new if no key was used before, or those that were no longer matter (see reprise store init --help)")}
			}
			return initStore(cmd.Context(), dsn, cmd.OutOrStdout())
		},
	}
	storeFlag(cmd, p, &dsn)
	cmd.Flags().BoolVar(&isNew, "new", false, "there was no store before (required)")
	return cmd
}

// initStore creates the database of a DSN and the secret beside it.
func initStore(ctx context.Context, dsn string, out io.Writer) error {
	path, err := fileOf(dsn)
	if err != nil {
		return err
	}
	switch _, err := sqlitestore.Status(ctx, path); {
	case err == nil:
		return fmt.Errorf("%s exists: store init makes new stores only, and an existing one is used as it is", path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	secret := secretBeside(path)
	hadSecret := exists(secret)
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if !s.Created() {
		return fmt.Errorf("another process created %s at the same time", path)
	}
	fmt.Fprintf(out, "created the database %s: every key is new to it, also those that were used before\n", path)
	if hadSecret {
		_, err = fmt.Fprintf(out, "kept the secret that was there, %s\n", secret)
		return err
	}
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		return err
	}
	if err := createWhole(secret, text); err != nil {
		return fmt.Errorf("the secret could not be written; a process that uses the database will try again: %w", err)
	}
	_, err = fmt.Fprintf(out, "created its secret %s, for its owner only\n"+
		"They belong together: without the secret no key is recognised. Keep both, back up both, show the secret to nobody.\n", secret)
	return err
}

// storeFile is the database where none is named, as in the configuration of the proxy.
const storeFile = "reprise.db"

// storeFlag gives a command, and those below it, the flag that names the store.
func storeFlag(cmd *cobra.Command, p process, dsn *string) {
	otherwise := variable(p.Environ, "REPRISE_STORE")
	if otherwise == "" {
		otherwise = "sqlite:" + storeFile
	}
	cmd.PersistentFlags().StringVar(dsn, "store", otherwise, "the store, such as sqlite:reprise.db (also REPRISE_STORE)")
}

// fileOf returns the database file that a DSN names.
func fileOf(dsn string) (string, error) {
	path, sqlite, err := parseDSN(dsn)
	if err == nil && !sqlite {
		err = errors.New("memory: has no schema and needs no beginning: each process that uses it makes its own")
	}
	if err != nil {
		return "", usageError{err}
	}
	return path, nil
}
