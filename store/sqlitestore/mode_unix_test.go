//go:build unix

package sqlitestore

import (
	"os"
	"path/filepath"
	"testing"
)

// A new database, and what SQLite keeps beside it, is for its owner only: it holds callers' answers. One
// that is there keeps the mode that somebody chose.
func TestMode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string)
		mode    os.FileMode
	}{
		"new":       {func(*testing.T, string) {}, 0o600},
		"odd & +?%": {func(*testing.T, string) {}, 0o600},
		"empty": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			chmod(t, path, 0o644)
		}, 0o600},
		"chosen": {func(t *testing.T, path string) {
			if err := open(t, path, Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			chmod(t, path, 0o640)
		}, 0o640},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			c.prepare(t, path)
			begun(t, open(t, path, Options{}), 1)
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 3 {
				t.Fatalf("%d files, want the database, its log and its shared memory; %v", len(entries), err)
			}
			for _, e := range entries {
				if info, err := e.Info(); err != nil || info.Mode() != c.mode {
					t.Errorf("%s: %v, %v; want %v", e.Name(), info.Mode(), err, c.mode)
				}
			}
		})
	}
}
