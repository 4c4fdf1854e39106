package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/pgstore"
)

func postgresPlace(dsn, _ string) (*place, error) {
	parsed, err := pgstore.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	p := &place{shown: parsed.String(), class: onServer, init: initSchema}
	status := func(ctx context.Context) (schemaStatus, error) {
		ctx, cancel := asking(ctx)
		defer cancel()
		s, err := pgstore.Status(ctx, dsn)
		return schemaStatus{s.Version, s.Latest}, err
	}
	p.open = func(ctx context.Context, _ access) (store.Store, bool, error) {
		asked, cancel := asking(ctx)
		defer cancel()
		s, err := pgstore.Open(asked, dsn, pgstore.Options{})
		if errors.Is(err, store.ErrSchema) {
			found, failed := status(ctx)
			switch {
			case errors.Is(failed, store.ErrSchema): // which says more
				return nil, false, failed
			case failed == nil && found.version == 0:
				return nil, false, noStore(fmt.Sprintf("there is no schema %q in the database; is it the right one? reprise store init --new makes a store", parsed.Schema()))
			}
		}
		if err != nil {
			return nil, false, err
		}
		return s, false, nil
	}
	p.schema = &schema{
		status: status,
		migrate: func(ctx context.Context) (schemaStatus, error) {
			s, err := pgstore.Migrate(ctx, dsn)
			return schemaStatus{s.Version, s.Latest}, err
		},
		print: func(role string) (string, error) { return pgstore.Print(parsed.Schema(), role) },
	}
	return p, nil
}
