package proxy

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// Before each piece of a body there is a new deadline, and after the last none.
func TestPausedBody(t *testing.T) {
	t.Parallel()
	var deadlines []time.Time
	pieces := iotest.DataErrReader(iotest.OneByteReader(strings.NewReader("abc")))
	body := &pausedBody{ReadCloser: io.NopCloser(pieces), deadline: func(at time.Time) error {
		deadlines = append(deadlines, at)
		return nil
	}}
	before := time.Now()
	if text, err := io.ReadAll(body); err != nil || string(text) != "abc" {
		t.Fatalf("got %q, %v", text, err)
	}
	if len(deadlines) != 4 || !deadlines[3].IsZero() {
		t.Fatalf("deadlines %v, want three and then none", deadlines)
	}
	for _, at := range deadlines[:3] {
		if at.Sub(before) < bodyPause {
			t.Errorf("a deadline is less than %v ahead", bodyPause)
		}
	}
}
