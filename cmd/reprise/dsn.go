package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

// openedStore is a store that a DSN named.
type openedStore struct {
	store.Store
	path    string // the file of a SQLite store, else ""
	created bool   // nothing was there before
}

// Unwrap implements [store.Unwrapper].
func (s *openedStore) Unwrap() store.Store { return s.Store }

// access is what opening a store may do to what is there.
type access int

const (
	mayCreate  access = iota // make a store where there is none, and bring an older schema up to date
	mayMigrate               // only the latter
	asItIs                   // neither: for whoever was only asked to look, or to change a record
)

// openStore opens the store that a DSN names. Where there must be one and is none, the error is
// [fs.ErrNotExist].
func openStore(ctx context.Context, dsn string, may access) (*openedStore, error) {
	path, sqlite, err := parseDSN(dsn)
	switch {
	case err != nil:
		return nil, usageError{err}
	case !sqlite && may != mayCreate:
		return nil, usageError{errors.New("--store memory: is the memory of the process that made it, and no other can look into it")}
	case !sqlite:
		return &openedStore{Store: memstore.New(nil), created: true}, nil
	}
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{MustExist: may != mayCreate, NoMigration: may == asItIs})
	if err != nil {
		return nil, err
	}
	return &openedStore{Store: s, path: path, created: s.Created()}, nil
}

// stores is what DSNs can be, in this version.
const stores = "memory: and sqlite:PATH"

// parseDSN returns the path of a SQLite store; without sqlite it is memory. A refusal does not repeat what
// follows the kind of store: it may hold a password.
func parseDSN(dsn string) (path string, sqlite bool, err error) {
	scheme, rest, ok := strings.Cut(dsn, ":")
	switch {
	case !ok:
		return "", false, fmt.Errorf("--store %q names no kind of store; this version has %s: did you mean %q?", dsn, stores, "sqlite:"+dsn)
	case scheme == "memory" && rest == "":
		return "", false, nil
	case scheme == "memory":
		return "", false, errors.New("--store memory: takes nothing after the colon")
	case scheme == "sqlite" && (rest == "" || strings.HasPrefix(rest, "//")):
		return "", false, errors.New("--store sqlite: needs a path, and no slashes before it: write sqlite:PATH, such as sqlite:reprise.db or sqlite:/var/lib/reprise/reprise.db")
	case scheme == "sqlite":
		return rest, true, nil
	}
	return "", false, fmt.Errorf("--store %q is not a store of this version, which has %s", scheme+":…", stores)
}
