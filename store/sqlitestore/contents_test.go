package sqlitestore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/store"
)

// snapshot returns the files of a directory with what is in them.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(text)
	}
	return all
}

// emptied makes a store and takes all out of its file, as a restore that broke off may.
func emptied(t *testing.T, path string) error {
	if err := open(t, path, Options{}).Close(); err != nil {
		return err
	}
	return os.Truncate(path, 0)
}

// halfMade makes a store whose making stopped before its first version.
func halfMade(t *testing.T, path string) error {
	err := open(t, path, Options{}).Close()
	for _, statement := range []string{"DELETE FROM reprise_schema WHERE version_id > 0", "DROP TABLE reprise_record", "DROP TABLE reprise_secret"} {
		err = errors.Join(err, editSchema(t, path, statement))
	}
	return err
}

// changed makes a store and changes it by hand.
func changed(statement string) func(*testing.T, string) error {
	return func(t *testing.T, path string) error {
		return errors.Join(open(t, path, Options{}).Close(), editSchema(t, path, statement))
	}
}

// foreign makes the database of another program.
func foreign(t *testing.T, path string) error {
	return editSchema(t, path, "CREATE TABLE somebody_elses (id INTEGER)")
}

// What is no store is not made one by mistake, and is left byte by byte as it was.
func TestWhatIsNoStore(t *testing.T) {
	t.Parallel()
	looking, working, making := Options{NoMigration: true}, Options{MustExist: true}, Options{}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, path string) error
		refuse  []Options
		says    string
		is      error
	}{
		{"missing", func(*testing.T, string) error { return nil }, []Options{looking, working}, "there is no database", fs.ErrNotExist},
		{"empty", emptied, []Options{looking, working}, "is empty: restore it", fs.ErrNotExist},
		{"without tables", func(t *testing.T, path string) error { return editSchema(t, path, "PRAGMA journal_mode = WAL") },
			[]Options{looking, working}, "a database without a store", fs.ErrNotExist},
		{"versions emptied", changed("DELETE FROM reprise_schema"), []Options{looking, working, making}, "has tables of a store, and reprise_schema does not say", nil},
		{"version deleted", changed("DELETE FROM reprise_schema WHERE version_id > 0"), []Options{looking, working, making}, "has tables of a store", nil},
		{"versions dropped", changed("DROP TABLE reprise_schema"), []Options{looking, working, making}, "has tables of a store", nil},
		{"records dropped", changed("DROP TABLE reprise_record"), []Options{looking, working, making}, "has schema 1, and no reprise_record: somebody has dropped it", nil},
		{"secrets dropped", changed("DROP TABLE reprise_secret"), []Options{looking, working, making}, "and no reprise_secret", nil},
		{"half made", halfMade, []Options{looking, working}, "a database without a store", fs.ErrNotExist},
		{"empty beside its log", func(t *testing.T, path string) error {
			return errors.Join(emptied(t, path), os.WriteFile(path+"-wal", []byte("the latest commits"), 0o600))
		}, []Options{looking, working, making}, "cut off", fs.ErrNotExist},
		{"deleted beside its log", func(_ *testing.T, path string) error {
			return os.WriteFile(path+"-wal", []byte("the latest commits"), 0o600)
		}, []Options{looking, working, making}, "was deleted", fs.ErrNotExist},
		{"of another program", foreign, []Options{looking, working, making}, "a database of something else", nil},
		{"of another program, with a log", func(t *testing.T, path string) error {
			return errors.Join(editSchema(t, path, "PRAGMA journal_mode = WAL"), foreign(t, path))
		}, []Options{looking, working, making}, "a database of something else", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "reprise.db")
			if err := c.prepare(t, path); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, filepath.Dir(path))
			check := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), c.says) || errors.Is(err, fs.ErrNotExist) != (c.is != nil) {
					t.Errorf("%s: %v", what, err)
				}
				after := snapshot(t, filepath.Dir(path))
				for name := range after {
					if was, ok := before[name]; !ok || was != after[name] {
						t.Errorf("%s: %s was made or changed", what, name)
					}
				}
				if len(after) != len(before) {
					t.Errorf("%s: %d files, there were %d", what, len(after), len(before))
				}
			}
			for _, options := range c.refuse {
				s, err := Open(t.Context(), path, options)
				if err == nil {
					err = errors.Join(s.Close(), errors.New("it was opened"))
				}
				check("open", err)
			}
			_, err := Status(t.Context(), path)
			check("status", err)
			if len(c.refuse) == 3 {
				_, err := Migrate(t.Context(), path)
				check("migrate", err)
			} else if s := open(t, path, making); !s.Created() {
				t.Error("the new store is not called so")
			}
		})
	}
}

// An older schema is left alone by those who only look into a store.
func TestOlderSchema(t *testing.T) {
	t.Parallel()
	old := contents{version: 1}
	err := old.check("r.db", Options{NoMigration: true}.withDefaults(), 2)
	if !errors.Is(err, store.ErrSchema) || !strings.Contains(err.Error(), "r.db has schema 1") || !strings.Contains(err.Error(), "reprise migrate up") {
		t.Errorf("looking: %v", err)
	}
	for _, options := range []Options{{}, {MustExist: true}} {
		if err := old.check("r.db", options, 2); err != nil {
			t.Errorf("%+v: %v", options, err)
		}
	}
	if err := (contents{version: 3}).check("r.db", Options{NoMigration: true}.withDefaults(), 2); err != nil {
		t.Errorf("the next schema: %v", err)
	}
	path := filepath.Join(t.TempDir(), "reprise.db")
	begun(t, open(t, path, Options{}), 1)
	begun(t, open(t, path, Options{NoMigration: true}), 1)
}

// A program may keep its records in its own database, if it says so.
func TestAStoreBesideTables(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := foreign(t, path); err != nil {
		t.Fatal(err)
	}
	if s := open(t, path, Options{Beside: true}); !s.Created() {
		t.Error("the store is new, and does not say so")
	}
	if s := open(t, path, Options{}); s.Created() {
		t.Error("the store was there, and is said to be new")
	}
	if err := editSchema(t, path, "INSERT INTO somebody_elses (id) VALUES (1)"); err != nil {
		t.Error(err)
	}
}
