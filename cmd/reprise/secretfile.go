package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise"
)

// secretBeside returns the file in which the secret of a SQLite database is, by default.
func secretBeside(path string) string { return path + ".secret" }

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
