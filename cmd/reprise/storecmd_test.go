package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
)

func TestStoreInit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	dsn := "sqlite:" + path
	out := must(t, "store", "init", "--new", "--store", dsn)
	if !strings.Contains(out, "created the database "+path) || !strings.Contains(out, path+".secret") {
		t.Errorf("printed:\n%s", out)
	}
	info, err := os.Stat(path + ".secret")
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("secret: %v, error %v", info, err)
	}
	text, _ := os.ReadFile(path + ".secret")
	if _, err := reprise.ParseSecrets(text); err != nil {
		t.Errorf("the secret cannot be read: %v", err)
	}
	if out := must(t, "migrate", "status", "--store", dsn); !strings.Contains(out, "up to date") {
		t.Errorf("status: %s", out)
	}
	if out := must(t, "migrate", "up", "--store", dsn); !strings.Contains(out, "nothing to do") {
		t.Errorf("up: %s", out)
	}
	if c := call(t, "", "store", "init", "--new", "--store", dsn); c.code != exitFailed || !strings.Contains(c.err, "exists") {
		t.Errorf("again: %+v", c)
	}
	if after, _ := os.ReadFile(path + ".secret"); string(after) != string(text) {
		t.Error("a refused init changed the secret")
	}
}

// A secret whose database is gone is kept: whoever says --new says that the keys from before no longer matter.
func TestStoreInitKeepsSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	if err := os.WriteFile(path+".secret", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := must(t, "store", "init", "--new", "--store", "sqlite:"+path); !strings.Contains(out, "kept the secret") {
		t.Errorf("printed:\n%s", out)
	}
	if text, err := os.ReadFile(path + ".secret"); err != nil || string(text) != "x" {
		t.Errorf("the secret is %q now, error %v", text, err)
	}
}

// A database that was emptied is none; that of another program is left alone.
func TestStoreInitFinds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	emptied(t, path)
	if out := must(t, "store", "init", "--new", "--store", "sqlite:"+path); !strings.Contains(out, "created the database") || !strings.Contains(out, "kept the secret") {
		t.Errorf("emptied:\n%s", out)
	}
	path = filepath.Join(t.TempDir(), "other.db")
	sqliteExec(t, path, "CREATE TABLE invoice (id INTEGER)")
	before := readFile(t, path)
	c := call(t, "", "store", "init", "--new", "--store", "sqlite:"+path)
	if c.code != exitFailed || !strings.Contains(c.err, "a database of something else") || exists(path+".secret") || readFile(t, path) != before {
		t.Errorf("another program's: %+v", c)
	}
}

// A memory store cannot be made beforehand.
func TestStoreInitMemory(t *testing.T) {
	t.Parallel()
	if c := call(t, "", "store", "init", "--new", "--store", "memory:"); c.code != exitUsage || !strings.Contains(c.err, "memory:") {
		t.Errorf("%+v", c)
	}
}

// An init that cannot make the database leaves nothing behind.
func TestStoreInitFails(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "missing")
	if c := call(t, "", "store", "init", "--new", "--store", "sqlite:"+filepath.Join(dir, "reprise.db")); c.code != exitFailed {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("something was left behind")
	}
}

func TestMigratePrint(t *testing.T) {
	t.Parallel()
	if out := must(t, "migrate", "print", "--store", "sqlite:any.db"); !strings.Contains(out, "CREATE TABLE") {
		t.Errorf("printed:\n%s", out)
	}
	if _, err := os.Stat("any.db"); err == nil {
		t.Error("print created a file")
	}
}
