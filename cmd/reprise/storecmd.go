package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
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
	var dsn, secretFile string
	var isNew bool
	cmd := &cobra.Command{
		Use:   "init --new",
		Short: "Create a new, empty store",
		Long: "Creates a store where there is none, and refuses where there is a store, or a database of something else. --new says that no\n" +
			"key was used before, or that those no longer matter: to the new store every key is new, and a retry of a request from\n" +
			"before runs again.\n\n" +
			"The secret of a SQLite file is made beside it; one that is there without a database is kept. A store on a server is told\n" +
			"the secret that its processes will have: --secret-file, or " + secretVariable + ". Its schema is made if it is missing, which takes a\n" +
			"role that may.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !isNew {
				return usageError{errors.New("say --new if no key was used before, or those that were no longer matter (see reprise store init --help)")}
			}
			place, err := placeWithSchema(dsn)
			if err != nil {
				return err
			}
			secret, err := newSecretSource(place, secretFile, variable(p.Environ, secretVariable))
			if err != nil {
				return err
			}
			if place.class == onServer {
				return initOnServer(cmd.Context(), secret, cmd.OutOrStdout())
			}
			return initFile(cmd.Context(), secret, cmd.OutOrStdout())
		},
	}
	storeFlag(cmd, p, &dsn)
	cmd.Flags().BoolVar(&isNew, "new", false, "there was no store before (required)")
	cmd.Flags().StringVar(&secretFile, "secret-file", variable(p.Environ, secretFileVariable), "the secret of the store (also "+secretFileVariable+", or the secret itself in "+secretVariable+")")
	return cmd
}

// initFile creates a database and, unless one is given, the secret beside it.
func initFile(ctx context.Context, secret secretSource, out io.Writer) error {
	p, beside := secret.place, secret.beside()
	switch _, err := p.schema.status(ctx); {
	case err == nil:
		return fmt.Errorf("%s exists: store init makes new stores only, and an existing one is used as it is", p.path)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	hadSecret := exists(beside)
	s, err := p.openStore(ctx, mayCreate)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	if !s.created {
		return fmt.Errorf("another process created %s at the same time", p.path)
	}
	fmt.Fprintf(out, "created the database %s: every key is new to it, also those that were used before\n", p.path)
	switch {
	case secret.file != "" || secret.variable != "":
		_, err = fmt.Fprintln(out, "its secret is the one that was given: keep it, without it no key is recognised")
		return err
	case hadSecret:
		_, err = fmt.Fprintf(out, "kept the secret that was there, %s\n", beside)
		return err
	}
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		return err
	}
	if err := createWhole(beside, text); err != nil {
		return fmt.Errorf("the secret could not be written; a process that uses the database will try again: %w", err)
	}
	_, err = fmt.Fprintf(out, "created its secret %s, for its owner only\n"+
		"They belong together: without the secret no key is recognised. Keep both, back up both, show the secret to nobody.\n", beside)
	return err
}

// initOnServer makes the schema, if it is missing, and tells the store its first secret. That is what
// makes it a store: until then, and when it has lost the secret again, processes refuse it.
func initOnServer(ctx context.Context, secret secretSource, out io.Writer) error {
	p := secret.place
	status, err := p.schema.status(ctx)
	if err != nil {
		return err
	}
	if status.version == 0 {
		if status, err = p.schema.migrate(ctx); err != nil {
			return err
		}
		fmt.Fprintf(out, "made schema %d in %v\n", status.version, p)
	}
	secrets, err := secret.given(slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	s, _, err := p.open(ctx, asItIs)
	if err != nil {
		return err
	}
	if err := errors.Join(declare(ctx, s, p, secrets), s.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%v is a new store: every key is new to it, also those that were used before\n"+
		"Without the secret that was given no key is recognised: keep it, apart from the database, and show it to nobody.\n", p)
	return err
}

// declare tells a store that has never had anything its first secret.
func declare(ctx context.Context, s store.Store, p *place, secrets *reprise.Secrets) error {
	known, err := knownSecrets(ctx, s)
	if err != nil {
		return err
	}
	lister, ok := store.As[store.Lister](s)
	if !ok {
		return store.ErrUnsupported
	}
	page, err := lister.List(ctx, store.Filter{}, "", 1)
	if err != nil {
		return err
	}
	switch records := len(page.Records) + len(page.Unreadable); {
	case len(known) > 0:
		return fmt.Errorf("%v exists: store init makes new stores only, and an existing one is used as it is", p)
	case records > 0:
		return fmt.Errorf("%v has records, and has lost the fingerprint of the secret that they were made under: restore it from a backup, or drop the schema", p)
	}
	guard, err := reprise.New(s, reprise.Policy{Secrets: secrets})
	if err != nil {
		return err
	}
	return errors.Join(guard.Check(ctx), guard.Close(ctx))
}

// storeFile is the database where none is named, as in the configuration of the proxy.
const storeFile = "reprise.db"

// storeFlag gives a command, and those below it, the flag that names the store.
func storeFlag(cmd *cobra.Command, p process, dsn *string) {
	const otherwise = "sqlite:" + storeFile
	cmd.PersistentFlags().StringVar(dsn, "store", otherwise, "the store, such as sqlite:reprise.db or postgres://app@db/app (also REPRISE_STORE)")
	if named := variable(p.Environ, "REPRISE_STORE"); named != "" {
		*dsn = named // not as the flag's default, which help prints: it may hold a password
	}
}
