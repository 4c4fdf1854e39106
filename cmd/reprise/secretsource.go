package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store"
)

// The variables that say what the secret is, or where.
const (
	secretVariable     = "REPRISE_SECRET" // a secret as it is, version 1
	secretFileVariable = "REPRISE_SECRET_FILE"
)

// makeSecret is how a person makes a secret file.
const makeSecret = `(umask 077; echo "1 $(openssl rand -base64 32)" >reprise.secret)`

// secretSource is where the secret of a place is from: the first of file, variable and what the class of
// the place has.
type secretSource struct {
	place    *place
	file     string           // --secret-file
	variable string           // value of REPRISE_SECRET
	memory   *reprise.Secrets // for a store that ends with the process
}

// newSecretSource refuses a secret that is missing or cannot be used, before the store is opened.
func newSecretSource(p *place, file, value string) (secretSource, error) {
	s, given, err := givenSecret(p, file, value)
	switch {
	case err != nil:
		return s, err
	case given == nil && p.class == inMemory:
		s.memory, err = randomSecrets()
		return s, err
	case given == nil && p.class == onServer:
		return s, usageError{fmt.Errorf("no secret; one is needed for %v, the same for every process that uses it: --secret-file FILE, or %s\n"+
			`make one, once, with: %s   or: export %s="$(openssl rand -base64 32)"`, p, secretVariable, makeSecret, secretVariable)}
	}
	return s, nil
}

// givenSecret returns the secret that somebody has named, nil where nobody has.
func givenSecret(p *place, file, value string) (secretSource, *reprise.Secrets, error) {
	s := secretSource{place: p, file: file, variable: value}
	if file != "" && value != "" {
		return s, nil, usageError{fmt.Errorf("there are two secrets, --secret-file and %s; keep the one under which the store was made", secretVariable)}
	}
	given, err := s.given(slog.New(slog.DiscardHandler))
	return s, given, err
}

// beside is the file in which the secret is made together with the store, where none is named; "" if it
// is not.
func (s secretSource) beside() string {
	if s.place.class == inFile {
		return secretBeside(s.place.path)
	}
	return ""
}

// openStore opens the store of the secret. A new one is made only where no secret says that there was one
// before. The secret beside a database is written after the database; the secret of a store on a server is
// given to `store init` first.
func (s secretSource) openStore(ctx context.Context) (*openedStore, error) {
	may, found := mayCreate, ""
	switch beside := s.beside(); {
	case s.place.class == onServer:
		may, found = asItIs, fmt.Sprintf("there is no store in %v, or its data are lost", s.place)
	case beside != "" && exists(beside):
		may, found = mayMigrate, fmt.Sprintf("%s is there and its database %s is not", beside, s.place.path)
	}
	opened, err := s.place.openStore(ctx, may)
	if err == nil && s.place.class == onServer {
		asked, cancel := asking(ctx)
		defer cancel()
		if _, err = knownSecrets(asked, opened); err != nil {
			err = errors.Join(err, opened.Close())
		}
	}
	if found != "" && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrLost)) { // else a directory is not there
		return nil, fmt.Errorf("%s. %s\nWhat was found: %w", found, s.place.remedies(), err)
	}
	return opened, err
}

// remedies says what can be done about a store that is not there, or no longer all of it.
func (p *place) remedies() string {
	if p.acceptLoss == nil {
		return "A lost database makes every key new, and retries run again: restore it from a backup.\n" +
			"If it is certain that nothing will be retried from before: reprise store init --new --store " + p.argument()
	}
	return "Keys whose records were lost are new, and their retries run again.\n" +
		"If there has never been a store: reprise store init --new --store " + p.argument() + "\n" +
		"If there was one, find out what took effect (docs/operating.md), and then: " + p.accepting()
}

// given returns the secrets of the file or variable that names them, or nil where neither does.
func (s secretSource) given(log *slog.Logger) (*reprise.Secrets, error) {
	switch {
	case s.file != "":
		secrets, err := readSecretFile(s.file, func(mode fs.FileMode) error {
			log.Warn("others on this machine can read the secret file; chmod 600 it unless that is meant", "file", s.file, "mode", mode.String())
			return nil
		})
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%w\nPut the file there under which the store was made, or name it: --secret-file. Only for a store that is still to be made, make one with: %s", err, makeSecret)
		case err != nil:
			return nil, fmt.Errorf("%w\nUnder another secret every recorded key looks new, and retries run again: put back the file under which the store was made", err)
		}
		return secrets, nil
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
	beside := s.beside()
	if beside == "" {
		return s.memory, nil
	}
	if !exists(beside) {
		if err := s.make(ctx, opened, log); err != nil {
			return nil, err
		}
	}
	return readOwn(beside)
}

// readOwn reads a secret file that the program made.
func readOwn(beside string) (*reprise.Secrets, error) {
	return readSecretFile(beside, func(fs.FileMode) error {
		return fmt.Errorf("others on this machine can read %s, and could test guesses of keys: chmod 600 %s", beside, beside)
	})
}

// check finds what read would refuse, as far as that can be seen without the store.
func (s secretSource) check(log *slog.Logger) error {
	given, err := s.given(log)
	if beside := s.beside(); err == nil && given == nil && beside != "" && exists(beside) {
		_, err = readOwn(beside)
	}
	return err
}

// make writes a new secret beside a database that holds nothing made under another.
func (s secretSource) make(ctx context.Context, opened *openedStore, log *slog.Logger) error {
	beside := s.beside()
	known, err := knownSecrets(ctx, opened)
	if err != nil {
		return err
	}
	if len(known) > 0 {
		return fmt.Errorf("the secret of %s is missing: %s. Under another one every recorded key looks new, and retries run again.\n"+
			"Restore the file from a backup, or say where the secret is: --secret-file, or %s", s.place.path, beside, secretVariable)
	}
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		return err
	}
	switch err := createWhole(beside, text); {
	case errors.Is(err, fs.ErrExist): // another process was first: its secret is ours
		return nil
	case err != nil:
		return fmt.Errorf("the secret of a new store could not be written: %w", err)
	}
	log.Info("a new store: keys sent before this are unknown to it. The database and its secret belong together: keep both, back up both, show the secret to nobody",
		"database", s.place.path, "secret", beside)
	return nil
}

// knownSecrets returns the versions of the secret that a store knows of.
func knownSecrets(ctx context.Context, s store.Store) ([]store.Secret, error) {
	keeper, ok := store.As[store.SecretKeeper](s)
	if !ok {
		return nil, store.ErrUnsupported
	}
	known, _, err := keeper.Secrets(ctx)
	return known, err
}
