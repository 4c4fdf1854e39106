package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
)

// secretVariable holds a secret as it is, version 1.
const secretVariable = "REPRISE_SECRET"

// secretSource is where the secret is from: the first of file, variable and the file beside a SQLite
// database that there is.
type secretSource struct {
	file     string           // --secret-file
	variable string           // value of REPRISE_SECRET
	beside   string           // PATH.secret; "" where the store is no file
	memory   *reprise.Secrets // for a store that ends with the process
}

// secretBeside returns the file in which the secret of a SQLite database is, by default.
func secretBeside(path string) string { return path + ".secret" }

// check refuses a secret that cannot be used, before the store is opened.
func (s secretSource) check() error {
	if s.file != "" && s.variable != "" {
		return usageError{fmt.Errorf("there are two secrets, --secret-file and %s; keep the one under which the store was made", secretVariable)}
	}
	_, err := s.given(slog.New(slog.DiscardHandler))
	return err
}

// openStore opens the store of the secret. A new one is made only where no secret says that there was one
// before: the secret beside a database is written after the database.
func (s secretSource) openStore(ctx context.Context, dsn, path string) (*openedStore, error) {
	if s.beside == "" || !exists(s.beside) {
		return openStore(ctx, dsn, mayCreate)
	}
	opened, err := openStore(ctx, dsn, mayMigrate)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is there and its database %s is not. A lost database makes every key new, and retries run again: restore it from a backup.\n"+
			"If it is certain that nothing will be retried from before: reprise store init --new --store sqlite:%s\n"+
			"What was found: %w", s.beside, path, path, err)
	}
	return opened, err
}

// given returns the secrets of the file or variable that names them, or nil where neither does.
func (s secretSource) given(log *slog.Logger) (*reprise.Secrets, error) {
	switch {
	case s.file != "":
		return readSecretFile(s.file, func(mode fs.FileMode) error {
			log.Warn("others on this machine can read the secret file; chmod 600 it unless that is meant", "file", s.file, "mode", mode.String())
			return nil
		})
	case s.variable == "":
		return nil, nil
	case len(s.variable) < reprise.MinSecret:
		return nil, usageError{fmt.Errorf("%s has %d characters, and at least %d random ones are needed; make some with: openssl rand -base64 32", secretVariable, len(s.variable), reprise.MinSecret)}
	}
	return reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: []byte(s.variable)})
}

// read returns the secrets for a store that is open, and makes a file for one that has never had any.
func (s secretSource) read(ctx context.Context, opened *openedStore, log *slog.Logger) (*reprise.Secrets, error) {
	if given, err := s.given(log); given != nil || err != nil {
		return given, err
	}
	if s.beside == "" {
		return s.memory, nil
	}
	if !exists(s.beside) {
		if err := s.make(ctx, opened, log); err != nil {
			return nil, err
		}
	}
	return readSecretFile(s.beside, func(fs.FileMode) error {
		return fmt.Errorf("others on this machine can read %s, and could test guesses of keys: chmod 600 %s", s.beside, s.beside)
	})
}

// make writes a new secret beside a database that holds nothing made under another.
func (s secretSource) make(ctx context.Context, opened *openedStore, log *slog.Logger) error {
	keeper, ok := store.As[store.SecretKeeper](opened)
	if !ok {
		return store.ErrUnsupported
	}
	known, _, err := keeper.Secrets(ctx)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return fmt.Errorf("the secret of %s is missing: %s. Under another one every recorded key looks new, and retries run again.\n"+
			"Restore the file from a backup, or say where the secret is: --secret-file, or %s", opened.path, s.beside, secretVariable)
	}
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		return err
	}
	switch err := createWhole(s.beside, text); {
	case errors.Is(err, fs.ErrExist): // another process was first: its secret is ours
		return nil
	case err != nil:
		return fmt.Errorf("the secret of a new store could not be written: %w", err)
	}
	log.Info("a new store: keys sent before this are unknown to it. The database and its secret belong together: keep both, back up both, show the secret to nobody",
		"database", opened.path, "secret", s.beside)
	return nil
}

// createWhole creates a file that only its owner can read, with all of its text or not at all.
func createWhole(path string, text []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	_, err = part.Write(text)
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	return os.Link(part.Name(), path) // fails where the file exists, as a rename would not
}

// readSecretFile reads a secret file. What is to be done about one that others can read is open's to say.
func readSecretFile(path string, open func(fs.FileMode) error) (*reprise.Secrets, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the secret cannot be read: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		if err := open(mode); err != nil {
			return nil, err
		}
	}
	secrets, err := reprise.ParseSecrets(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return secrets, nil
}

// randomSecrets returns a secret that nobody knows.
func randomSecrets() (*reprise.Secrets, error) {
	return reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: []byte(rand.Text() + rand.Text())})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
