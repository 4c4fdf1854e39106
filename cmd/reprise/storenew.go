package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
)

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

// initSchema makes the schema, if it is missing, and tells the store its first secret. That is what
// makes it a store: until then, and when it has lost the secret again, processes refuse it.
func initSchema(ctx context.Context, secret secretSource, out io.Writer) error {
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
	return declaredNew(out, p)
}

// declaredNew says what a store on a server is that was told its first secret.
func declaredNew(out io.Writer, p *place) error {
	_, err := fmt.Fprintf(out, "%v is a new store: every key is new to it, also those that were used before\n"+
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
	return tell(ctx, s, secrets)
}

// tell tells a store of secrets that it does not know.
func tell(ctx context.Context, s store.Store, secrets *reprise.Secrets) error {
	guard, err := reprise.New(s, reprise.Policy{Secrets: secrets})
	if err != nil {
		return err
	}
	return errors.Join(guard.Check(ctx), guard.Close(ctx))
}
