package proxy

import (
	"io"
	"net/http"
	"time"
)

// bodyPause is how long a client may pause while it sends the body of a guarded request, which is held in
// memory. Other bodies are passed on as they come, at the client's pace.
const bodyPause = 30 * time.Second

// patient gives up on clients that pause for longer. The first pause begins with the request: of one that is refused before its body
// is read, net/http reads the rest before the answer leaves.
func patient(pause time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			limited, body := *r, &pausedBody{ReadCloser: r.Body, pause: pause, deadline: http.NewResponseController(w).SetReadDeadline}
			limited.Body = body
			body.wait()
			r = &limited
		}
		next.ServeHTTP(w, r)
	})
}

// pausedBody moves the connection's deadline before each read, and takes it away at the end of the body. After an error the deadline
// stays: what is left of the body is not waited for either.
type pausedBody struct {
	io.ReadCloser
	pause    time.Duration
	deadline func(time.Time) error // a connection without deadlines has none
}

// wait begins a pause.
func (b *pausedBody) wait() { _ = b.deadline(time.Now().Add(b.pause)) }

// unlimited returns the body without limits on pauses.
func (b *pausedBody) unlimited() io.ReadCloser {
	_ = b.deadline(time.Time{})
	return b.ReadCloser
}

// Read implements [io.Reader].
func (b *pausedBody) Read(p []byte) (int, error) {
	b.wait()
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.deadline(time.Time{})
	}
	return n, err
}
