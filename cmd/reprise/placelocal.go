package main

import (
	"context"
	"errors"
	"strings"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

func memoryPlace(dsn, rest string) (*place, error) {
	if rest != "" {
		return nil, errors.New("memory: takes nothing after the colon")
	}
	return &place{
		shown: dsn, class: inMemory,
		open:     func(context.Context, access) (store.Store, bool, error) { return memstore.New(nil), true, nil },
		noSchema: "memory: has no schema and needs no beginning: each process that uses it makes its own",
	}, nil
}

func sqlitePlace(dsn, path string) (*place, error) {
	if path == "" || strings.HasPrefix(path, "//") {
		return nil, errors.New("sqlite: needs a path, and no slashes before it: write sqlite:PATH, such as sqlite:reprise.db or sqlite:/var/lib/reprise/reprise.db")
	}
	return &place{
		shown: dsn, class: inFile, path: path,
		open: func(ctx context.Context, may access) (store.Store, bool, error) {
			s, err := sqlitestore.Open(ctx, path, sqlitestore.Options{MustExist: may != mayCreate, NoMigration: may == asItIs})
			if err != nil {
				return nil, false, err
			}
			return s, s.Created(), nil
		},
		init: initFile,
		schema: &schema{
			status: func(ctx context.Context) (schemaStatus, error) {
				s, err := sqlitestore.Status(ctx, path)
				return schemaStatus{s.Version, s.Latest}, err
			},
			migrate: func(ctx context.Context) (schemaStatus, error) {
				s, err := sqlitestore.Migrate(ctx, path)
				return schemaStatus{s.Version, s.Latest}, err
			},
			print: func(role string) (string, error) {
				if role != "" {
					return "", usageError{errors.New("--role: SQLite has no roles; whoever can read and write the file can use it")}
				}
				return sqlitestore.Print(), nil
			},
		},
	}, nil
}
