package meterledger

import (
	"context"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// Opening a month, which every process does again and again, waits for nobody who has its grant, and opens it for who has none.
func TestWhoHasItsMonthIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"Postgres": servicetest.Postgres(t).Database(t), "MariaDB": servicetest.MariaDB(t).Database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l, err := Open(ctx, dsn, Options{Migrate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			add := func(family, line string, want int64) {
				t.Helper()
				if err := l.Import(ctx, []Family{{ID: family, Shared: 1}}, []Line{{ID: line, Family: family}}, nil); err != nil {
					t.Error(err)
				}
				patience, cancel := context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
				if made, err := l.OpenMonth(patience, 202603); made != want || err != nil {
					t.Errorf("%d grants, %v; want %d", made, err, want)
				}
			}
			add("b", "b", 2)
			if err := l.db.Change(ctx, func(tx *database.Tx) error {
				for _, g := range []meter.Grant{{Line: "b"}, {Family: "b"}} {
					if err := l.lockOwner(tx, g); err != nil {
						return err
					}
				}
				add("a", "c", 2) // on both sides of those that are locked
				return nil
			}); err != nil {
				t.Error(err)
			}
			add("a", "c", 0)
		})
	}
}
