//go:build unix

package servicetest

import (
	"bytes"
	"io"
	"sync"
	"testing"
)

// logKept is how many bytes of a server's log are kept at least, once it is that long.
const logKept = 512 << 10

// shownOnFailure is how many bytes of it a failed test shows at most.
const shownOnFailure = 16 << 10

// serverLog is what the processes of a server wrote, oldest first.
type serverLog struct {
	mu      sync.Mutex
	text    []byte
	dropped int           // bytes in front of text that are no longer kept
	more    chan struct{} // closed and replaced when something is written
}

func newServerLog() *serverLog { return &serverLog{more: make(chan struct{})} }

// Write appends. It never fails.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if excess := len(l.text) - logKept; excess > logKept {
		l.text = append([]byte(nil), l.text[excess:]...)
		l.dropped += excess
	}
	close(l.more)
	l.more = make(chan struct{})
	return len(p), nil
}

// collect appends what comes from r until its end: when the last process that holds it is gone.
func (l *serverLog) collect(r io.ReadCloser, gone chan<- struct{}) {
	defer close(gone)
	defer r.Close()
	_, _ = io.Copy(l, r) // an end is an end
}

// changed is closed when more is written.
func (l *serverLog) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.more
}

// length returns how many bytes were written until now.
func (l *serverLog) length() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped + len(l.text)
}

// since returns what was written after the first n bytes, as far as it is kept.
func (l *serverLog) since(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text[max(0, n-l.dropped):])
}

// showIfFailed shows the end of what the server writes from now on, if the test fails.
func (l *serverLog) showIfFailed(t testing.TB, kind string) {
	from := l.length()
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		text := []byte(l.since(from))
		if excess := len(text) - shownOnFailure; excess > 0 {
			text = text[excess:]
			text = text[bytes.IndexByte(text, '\n')+1:]
		}
		t.Logf("log of the %s server:\n%s", kind, text)
	})
}
