package sqlitestore

import (
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// longLog makes a log that a reader keeps from starting anew until the returned function is called, and that is to be
// looked at now.
func longLog(t *testing.T, s *Store) (moveOn func()) {
	t.Helper()
	r, err := s.borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, begin := range []string{"BEGIN", "SELECT count(*) FROM reprise_record"} {
		if err := r.conn.exec(begin); err != nil {
			t.Fatal(err)
		}
	}
	fill(t, s, 100, 0)
	if n := logPages(t, s); n < 10 {
		t.Fatalf("the log has %d pages", n)
	}
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.writer.logLimit, s.writer.lookAt = 5, time.Time{}
	return func() {
		if err := r.conn.exec("ROLLBACK"); err != nil {
			t.Error(err)
		}
		s.giveBack(r)
	}
}

func logPages(t *testing.T, s *Store) int64 {
	t.Helper()
	r, err := s.borrow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.giveBack(r)
	return r.conn.logPages()
}

// A log that a reader has kept from starting anew is truncated once the reader is gone.
func TestLogIsTruncated(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{Detached: true})
	longLog(t, s)()
	// The answer is given before the log is looked at; the next group comes after that.
	want(t, s, machine.Acquired, newBegin())
	want(t, s, machine.Acquired, newBegin())
	if n := logPages(t, s); n > 5 {
		t.Errorf("the log still has %d pages", n)
	}
}

// What is to be written waits for a reader that does not move on, and not every second again.
func TestALogThatIsReadFromIsLeft(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{Detached: true})
	moveOn := longLog(t, s)
	for range 2 { // the answer is given before the log is looked at
		want(t, s, machine.Acquired, newBegin())
	}
	s.writer.mu.Lock()
	next := time.Until(s.writer.lookAt)
	s.writer.mu.Unlock()
	if next <= logLookEvery || logPages(t, s) < 10 {
		t.Errorf("a log of %d pages is looked at again after %v", logPages(t, s), next)
	}
	moveOn()
}

// Who commits by itself does not wait until the log is truncated, which may take as long as somebody reads from it.
func TestALoneCallerDoesNotTidyTheLog(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	s := open(t, filepath.Join(d.dir, "reprise.db"), Options{})
	longLog(t, s)()
	truncated := make(chan string, 1)
	d.onCut(func() {
		select {
		case truncated <- string(debug.Stack()):
		default:
		}
	})
	s.writer.mu.Lock()
	s.writer.last, s.writer.took, s.writer.polite = 0, 0, 0 // it is alone, and commits are quick
	s.writer.mu.Unlock()
	want(t, s, machine.Acquired, newBegin())
	stack := <-truncated
	if strings.Contains(stack, ".(*Store).Apply(") || !strings.Contains(stack, ".(*writer).run(") {
		t.Errorf("the log is truncated by\n%s", stack)
	}
}
