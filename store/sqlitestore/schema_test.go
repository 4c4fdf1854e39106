package sqlitestore

import (
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestMigrate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	if _, err := Status(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("status of a missing file: %v", err)
	}
	for range 2 { // the second time there is nothing to do
		if status, err := Migrate(t.Context(), path); err != nil || status.Version != status.Latest || status.Pending() {
			t.Fatalf("migrate: %+v, %v", status, err)
		}
	}
	if status, err := Status(t.Context(), path); err != nil || status.Version != status.Latest {
		t.Errorf("status after: %+v, %v", status, err)
	}
	if sql := Print(); !strings.Contains(sql, "CREATE TABLE reprise_record") {
		t.Errorf("print: %q", sql)
	}
}

// The next schema is accepted, so that processes of two versions can share a file; the one after it is not.
func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	status, err := Migrate(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := setVersion(t, path, status.Latest+1); err != nil {
		t.Fatal(err)
	}
	begun(t, open(t, path, Options{}), 1)
	if err := setVersion(t, path, status.Latest+2); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err == nil {
		t.Fatal(errors.Join(errors.New("it was opened"), s.Close()))
	}
	if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "upgrade this program") {
		t.Errorf("open: %v", err)
	}
}

func setVersion(t *testing.T, path string, version int64) error {
	t.Helper()
	return editSchema(t, path, "INSERT INTO reprise_schema (version_id, is_applied) VALUES (?, 1)", version)
}

func editSchema(t *testing.T, path, statement string, args ...any) error {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, "rwc", time.Second, readerCache))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(t.Context(), statement, args...)
	return errors.Join(err, db.Close())
}

// A migration that cannot be finished leaves nothing, and tells why.
func TestFailedMigrationLeavesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	if err := halfMade(t, path); err != nil {
		t.Fatal(err)
	}
	// The first statements of the migration work, the last one does not.
	if err := editSchema(t, path, "CREATE VIEW reprise_secret AS SELECT 1 AS other"); err != nil {
		t.Fatal(err)
	}
	if _, err := Migrate(t.Context(), path); err == nil || !strings.Contains(err.Error(), "reprise_secret") {
		t.Fatalf("migrate: %v", err)
	}
	if status, err := Status(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("status: %+v, %v", status, err)
	}
	if err := editSchema(t, path, "SELECT 1 FROM reprise_record"); err == nil {
		t.Error("half of the schema is there")
	}
	if err := editSchema(t, path, "DROP VIEW reprise_secret"); err != nil {
		t.Fatal(err)
	}
	begun(t, open(t, path, Options{}), 1)
}

// Because goose makes its table and its first note in two steps: who is killed between them leaves a table
// without a note, and nobody could open the file any more.
func TestATableOfVersionsWithoutANote(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	if err := errors.Join(halfMade(t, path), editSchema(t, path, "DELETE FROM reprise_schema")); err != nil {
		t.Fatal(err)
	}
	begun(t, open(t, path, Options{}), 1)
}

func TestManyHandlesOpenANewFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	created := make(chan bool, 8)
	var group sync.WaitGroup
	for range cap(created) {
		group.Go(func() {
			s, err := Open(t.Context(), path, Options{Readers: 1})
			if err != nil {
				t.Error(err)
				return
			}
			created <- s.Created()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	close(created)
	makers := 0
	for c := range created {
		if c {
			makers++
		}
	}
	if makers != 1 {
		t.Errorf("%d handles say that they made the database", makers)
	}
	want(t, open(t, path, Options{}), machine.Acquired, newBegin())
}
