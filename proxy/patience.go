package proxy

import (
	"io"
	"net/http"
	"time"
)

// bodyPause is how long a client may pause while it sends the body of a guarded request, which is held in
// memory. Other bodies are passed on as they come, at the client's pace.
const bodyPause = 30 * time.Second

// patient gives up on clients that pause for too long.
func patient(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			limited := *r
			limited.Body = &pausedBody{ReadCloser: r.Body, deadline: http.NewResponseController(w).SetReadDeadline}
			r = &limited
		}
		next.ServeHTTP(w, r)
	})
}

// pausedBody moves the connection's deadline before each read, and takes it away at the end.
type pausedBody struct {
	io.ReadCloser
	deadline func(time.Time) error
}

// Read implements [io.Reader].
func (b *pausedBody) Read(p []byte) (int, error) {
	_ = b.deadline(time.Now().Add(bodyPause)) // a connection without deadlines has none
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.deadline(time.Time{})
	}
	return n, err
}
