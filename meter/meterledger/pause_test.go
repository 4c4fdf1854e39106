package meterledger

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

// Because a process that is stopped in the middle of an append would keep every generation from beginning: the server
// frees what it holds, and what it goes on with is refused.
func TestAStoppedWriterIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{"Postgres": servicetest.Postgres(t).Database(t), "MariaDB": servicetest.MariaDB(t).Database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			l, err := Open(ctx, dsn, Options{Migrate: true, Timeout: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if err := l.NewGeneration(ctx, "", "a1", "test", "first"); err != nil {
				t.Fatal(err)
			}
			began := make(chan error)
			err = l.db.Change(ctx, func(tx *database.Tx) error {
				if _, err := l.believe(tx, "a1"); err != nil {
					return err
				}
				go func() { began <- l.NewGeneration(ctx, "a1", "b2", "test", "lost") }()
				if err := <-began; err != nil { // the writer does nothing meanwhile
					return err
				}
				return tx.Run(l.sql.generation)
			})
			if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) {
				t.Errorf("the writer went on: %v", err)
			}
			if g, err := l.Generation(ctx); g != "b2" || err != nil {
				t.Errorf("%q, %v", g, err)
			}
		})
	}
}
