package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
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
		Long: "Creates a store where there is none. It refuses where there is anything: a database, or a secret whose database is gone.\n" +
			"--new says in words that nothing was recorded before: whoever asks this store will be told that every key is new.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isNew {
				return usageError{errors.New("say --new: from then on every key counts as new")}
			}
			return initStore(cmd.Context(), dsn, cmd.OutOrStdout())
		},
	}
	storeFlag(cmd, p, &dsn)
	cmd.Flags().BoolVar(&isNew, "new", false, "there was no store before (required)")
	return cmd
}

// initStore creates the database of a DSN, and what else a new store needs.
func initStore(ctx context.Context, dsn string, out io.Writer) error {
	path, err := sqlitePath(dsn)
	if err != nil {
		return err
	}
	if err := refuseExisting(path); err != nil {
		return err
	}
	secret := path + ".secret"
	if err := createSecretFile(secret); err != nil {
		return err
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return errors.Join(err, os.Remove(secret))
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "created the database %s: every key is new to it\n"+
		"created its secret %s, readable by its owner only: all processes that use the database need it, and without it no key is recognised. Keep both, and back them up together\n", path, secret)
	return err
}

// refuseExisting refuses a path at which there is a database or a secret.
func refuseExisting(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("%s exists: store init makes new stores only, and an existing one is used as it is", path), err)
	}
	if _, err := os.Stat(path + ".secret"); !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(fmt.Errorf("there is a secret %s.secret and no database: the database was lost or moved. Put it back; only if it is certain that nothing will be retried from before, remove the secret and try again", path), err)
	}
	return nil
}

// createSecretFile writes a new secret to a file that does not exist yet.
func createSecretFile(path string) error {
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// storeFlag gives a command, and those below it, the flag that names the store.
func storeFlag(cmd *cobra.Command, p process, dsn *string) {
	otherwise := "sqlite:reprise.db"
	for _, line := range p.Environ {
		if value, ok := strings.CutPrefix(line, "REPRISE_STORE="); ok {
			otherwise = value
		}
	}
	cmd.PersistentFlags().StringVar(dsn, "store", otherwise, "the store, such as sqlite:reprise.db (also REPRISE_STORE)")
}

// openExisting opens a store that is there already. It never creates one.
func openExisting(ctx context.Context, dsn string) (store.Store, error) {
	path, err := sqlitePath(dsn)
	if err != nil {
		return nil, err
	}
	return sqlitestore.Open(ctx, path, sqlitestore.Options{MustExist: true})
}

// sqlitePath returns the path in a DSN. The other kinds have nothing to be looked after: a memory store
// is in another process, and goes with it.
func sqlitePath(dsn string) (string, error) {
	path, ok := strings.CutPrefix(dsn, "sqlite:")
	if !ok || path == "" {
		return "", usageError{fmt.Errorf("--store %q: this command works on sqlite:PATH", dsn)}
	}
	return path, nil
}
