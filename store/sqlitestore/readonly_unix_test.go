//go:build unix

package sqlitestore

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file that may only be read is refused when it is opened, in words. The superuser may write
// everything, so another user opens it.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		file, dir os.FileMode
	}{
		{"the file", 0o444, 0o777},
		{"the file and its directory", 0o444, 0o555},
		{"no right to read", 0o000, 0o777},
		{"a directory that cannot be entered", 0o666, 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := publicDir(t)
			dir := filepath.Join(top, "data")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "reprise.db")
			if err := open(t, path, Options{}).Close(); err != nil {
				t.Fatal(err)
			}
			chmod(t, path, c.file)
			chmod(t, dir, c.dir)
			t.Cleanup(func() { chmod(t, dir, 0o755) })

			cmd := child(t, "open", path)
			if os.Geteuid() == 0 {
				cmd.Path = copyOfTestBinary(t, top)
				cmd.Dir = top
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			output, err := cmd.Output()
			if err == nil || !strings.Contains(string(output), "error: ") {
				t.Fatalf("it was opened: %q, %v", output, err)
			}
			if !strings.Contains(string(output), path) || !strings.Contains(string(output), "this user") {
				t.Errorf("the error does not say what to do: %s", output)
			}
		})
	}
}

// publicDir is a directory that other users may enter, unlike those of [testing.T.TempDir].
func publicDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sqlitestore")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	chmod(t, dir, 0o755)
	return dir
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Error(err)
	}
}

func copyOfTestBinary(t *testing.T, dir string) string {
	t.Helper()
	from, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(dir, "child")
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}
