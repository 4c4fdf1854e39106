package sqlitestore

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database\n"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, path, says string
		options          Options
		is               error
	}{
		{"no path", "", "name one", Options{}, nil},
		{"memory", ":memory:", "memory store", Options{}, nil},
		{"a directory", dir, "is a directory", Options{}, nil},
		{"no directory", filepath.Join(dir, "missing", "reprise.db"), "create it first", Options{}, fs.ErrNotExist},
		{"no file that must exist", filepath.Join(dir, "reprise.db"), "reprise store init", Options{MustExist: true}, fs.ErrNotExist},
		{"a file in a file", filepath.Join(text, "reprise.db"), "give this user the right", Options{}, nil},
		{"not a database", text, "is not a SQLite database", Options{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(t.Context(), c.path, c.options)
			if err == nil {
				t.Fatal(errors.Join(errors.New("it was opened"), s.Close()))
			}
			if !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %q does not say %q", err, c.says)
			}
		})
	}
	if left, _ := os.ReadFile(text); !bytes.HasPrefix(left, []byte("not a database\n")) {
		t.Error("a file that is no database was changed")
	}
}

// Names that mean something in a URL are only names here.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a?mode=memory", "100%25.db", "a#b", "with space", "ünïcode.db", "a&_pragma=synchronous(OFF)"} {
		path := filepath.Join(t.TempDir(), name)
		s := open(t, path, Options{})
		if !s.Created() {
			t.Errorf("%s: the database is new, and is not called so", name)
		}
		begin := begun(t, s, 1)[0]
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		again := open(t, path, Options{MustExist: true})
		if again.Created() {
			t.Errorf("%s: the database is there, and is called new", name)
		}
		want(t, again, machine.InProgress, anotherCaller(begin))
	}
}

// However long a command may wait for the lock, it waits.
func TestABusyTimeoutOfMonths(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{BusyTimeout: 100 * 24 * time.Hour})
	r, err := s.borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.giveBack(r)
	err = r.conn.query("PRAGMA busy_timeout", 1, func(row []driver.Value) error {
		if ms, _ := row[0].(int64); ms < (24 * time.Hour).Milliseconds() {
			t.Errorf("a reader waits for %d ms", ms)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A link is another name for its file: there the log is, and what is left of a store is looked for.
func TestALinkToTheFile(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	link := func(to, name string) string {
		name = filepath.Join(dir, name)
		if err := os.Symlink(to, name); err != nil {
			t.Skip("no links here:", err)
		}
		return name
	}
	beside, err := filepath.Rel(dir, filepath.Join(elsewhere, "beside.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"a link":              link(filepath.Join(elsewhere, "reprise.db"), "link.db"),
		"a relative link":     link(beside, "relative.db"),
		"a link to a link":    link(link(filepath.Join(elsewhere, "far.db"), "near.db"), "first.db"),
		"a link in this one":  link("here.db", "there.db"),
		"a link in directory": filepath.Join(link(elsewhere, "directory"), "plain.db"),
	} {
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s, to nothing: %v", name, err)
			continue
		}
		if !s.Created() {
			t.Errorf("%s: the database is new, and is not called so", name)
		}
		begin := begun(t, s, 1)[0]
		want(t, open(t, path, Options{MustExist: true}), machine.InProgress, anotherCaller(begin))
		file, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		want(t, open(t, file, Options{MustExist: true}), machine.InProgress, anotherCaller(begin))
		if err := errors.Join(os.Remove(file), s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s, to a log without its file: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), link("circle.db", "circle.db"), Options{}); err == nil || !strings.Contains(err.Error(), "name a file") {
		t.Errorf("a link to itself: %v", err)
	}
}

// Who opens the link after it was changed is in another file. So nobody goes on in the first one.
func TestALinkThatIsChanged(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "link.db")
	point := func(to string) error { return os.Symlink(filepath.Join(t.TempDir(), to), link) }
	if err := point("first.db"); err != nil {
		t.Skip("no links here:", err)
	}
	s := open(t, link, Options{})
	begin := begun(t, s, 1)[0]
	if err := errors.Join(os.Remove(link), point("second.db")); err != nil {
		t.Fatal(err)
	}
	other := open(t, link, Options{})
	want(t, other, machine.Acquired, begin)
	for _, command := range []machine.Command{completion(begin, nil), anotherCaller(begin)} {
		if _, err := s.Apply(t.Context(), command); !errors.Is(err, store.ErrLost) || !strings.Contains(err.Error(), "the link "+link) {
			t.Errorf("%v in the first file: %v", command.Kind(), err)
		}
	}
}

// A file that is deleted or replaced under a running process takes nothing more, and says what to do.
// That is so for its log too.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	for name, replace := range map[string]func(path string) error{
		"file deleted": os.Remove,
		"log deleted":  func(path string) error { return os.Remove(path + "-wal") },
		"file moved":   func(path string) error { return os.Rename(path, path+".aside") },
		"file replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".other", []byte("other"), 0o600), os.Rename(path+".other", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "reprise.db")
			s := open(t, path, Options{})
			begin := begun(t, s, 1)[0]
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			// The writer notices at once, and from then on readers do too.
			for _, command := range []machine.Command{completion(begin, nil), newBegin(), machine.Inspect{Scope: begin.Scope}} {
				_, err := s.Apply(t.Context(), command)
				if !errors.Is(err, store.ErrLost) || !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "and start again") {
					t.Errorf("%v: %v", command.Kind(), err)
				}
			}
		})
	}
}

// A new connection of the writer's must not go to a file that has taken the path.
func TestReconnectToAReplacedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	s := open(t, path, Options{})
	begin := begun(t, s, 1)[0]
	gaveUp := errors.New("the connection was given up")
	if err := s.do(t.Context(), func(*transaction, time.Time) error { s.writer.abandon(); return gaveUp }); !errors.Is(err, gaveUp) {
		t.Fatal(err)
	}
	s.file.next.Store(math.MaxInt64) // only the writer looks
	if err := errors.Join(os.Rename(path, path+".aside"), os.Remove(path+"-wal")); err != nil {
		t.Fatal(err)
	}
	other := open(t, path, Options{})
	renew := machine.Renew{Hold: completion(begin, nil).Hold, Lease: time.Minute}
	_, err := s.Apply(t.Context(), renew)
	if !errors.Is(err, store.ErrLost) {
		t.Errorf("renew: %v", err)
	}
	if s.writer.tx != nil { // read after the writer answered
		t.Error("the writer has connected to the other file")
	}
	want(t, other, machine.NotFound, machine.Inspect{Scope: begin.Scope})
}

// Neither keys nor principals reach the store; owner tokens do, and only their digests may be written.
func TestNoSecretsInTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	s := open(t, path, Options{})
	begins := begun(t, s, 20)
	for _, begin := range begins[:15] {
		want(t, s, machine.CompletedNow, completion(begin, []byte("the answer")))
	}
	check := func(when string) {
		files, err := filepath.Glob(path + "*")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || bytes.Contains(content, []byte("the answer"))
			for _, begin := range begins {
				if bytes.Contains(content, begin.Owner[:]) {
					t.Fatalf("%s: %s holds an owner token", when, file)
				}
			}
		}
		if !found {
			t.Fatalf("%s: the answers are not where they are looked for", when)
		}
	}
	check("while open")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check("after close")
}
