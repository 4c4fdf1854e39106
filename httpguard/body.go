package httpguard

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
)

// firstRead is how much room a body gets before its bytes have come, whatever length it announces.
const firstRead = 64 << 10

// readBody reads a request's body into buffer. The problem is nil, or says why it cannot be used.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, buffer *bytes.Buffer) *Problem {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength > limit {
		return tooLarge(limit)
	}
	buffer.Grow(int(max(bytes.MinRead, min(r.ContentLength+bytes.MinRead, firstRead))))
	_, err := buffer.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return tooLarge(limit)
	case err != nil:
		return &Problem{Type: ProblemBodyIncomplete, Detail: "The body ended before its announced end, or could not be read. Nothing was done; send the request again."}
	case readBefore(r, buffer.Len()):
		return &Problem{Type: ProblemMisconfigured, Detail: "Nothing was done: something in front of the guard has read the body. Ask the operator."}
	}
	return nil
}

// readBefore reports whether somebody in front has taken the body, of which n bytes were left, and not put it back. The handler may still
// have it, as a form that was parsed; but it cannot be compared, and any other request would be taken for the same one.
func readBefore(r *http.Request, n int) bool {
	return n == 0 && (r.ContentLength > 0 || len(r.PostForm) > 0 || r.MultipartForm != nil)
}

func tooLarge(limit int64) *Problem {
	return &Problem{Type: ProblemBodyTooLarge, Detail: "Nothing was done. Send a smaller body, or ask the operator to raise the limit.",
		Extensions: map[string]any{"limit": limit}}
}

// heldBody is a request body that was read. Transports may go on reading it after a handler returned, so
// it gives copies only, and nothing once it is closed: its memory is used again.
type heldBody struct {
	mu     sync.Mutex
	rest   []byte
	closed bool
}

// Read implements [io.Reader].
func (b *heldBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// Close implements [io.Closer].
func (b *heldBody) Close() error {
	b.cut()
	return nil
}

// cut takes the memory away from whoever reads still.
func (b *heldBody) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed, b.rest = true, nil
}
