package proxy

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// duplex is for requests whose answer may begin before their end, as upstreams' answers do. HTTP/2 can do that by itself. On HTTP/1
// net/http would read the rest of the body before the answer leaves. Told not to, it reads what is left after the handler, and then stumbles
// over its own look-out for the end of the connection. So the answer that comes before the body's end says that it is the connection's last.
type duplex struct {
	http.ResponseWriter
	body *watched
}

// newDuplex returns the writer of the answer to r, and r with a body that is watched. Its handler calls leave before it returns.
func newDuplex(w http.ResponseWriter, r *http.Request) (answer http.ResponseWriter, watching *http.Request, leave func()) {
	if r.ProtoMajor != 1 || r.Body == nil || r.Body == http.NoBody {
		return w, r, func() {}
	}
	passed, d := *r, duplex{w, &watched{ReadCloser: r.Body}}
	passed.Body = d.body
	return d, &passed, d.leave
}

// leave keeps the body from being read any more, and returns when nobody reads it. Who sends it upstream may outlive the handler, and where that
// one comes to the body's end while net/http takes leave of the request, the connection is held without end.
func (d duplex) leave() {
	if !d.body.ended.Load() { // and so the connection is not used again
		_ = http.NewResponseController(d.ResponseWriter).SetReadDeadline(time.Unix(1, 0)) // whoever reads is told so
	}
	d.body.mu.Lock()
	d.body.left = true
	d.body.mu.Unlock()
}

// WriteHeader implements [http.ResponseWriter].
func (d duplex) WriteHeader(status int) {
	if status >= 200 && !d.body.ended.Load() {
		_ = http.NewResponseController(d.ResponseWriter).EnableFullDuplex()
		lastOfConnection(d.ResponseWriter)
	}
	d.ResponseWriter.WriteHeader(status)
}

// lastOfConnection makes an answer the last of its connection, as one to a body that is too large: net/http waits a little before it closes, so
// that what the client still sends does not take the answer from it. It does that for such bodies only, and so it is shown one.
func lastOfConnection(w http.ResponseWriter) {
	w.Header().Set("Connection", "close")
	for {
		inside, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			break
		}
		w = inside.Unwrap()
	}
	tooLarge := http.MaxBytesReader(w, io.NopCloser(strings.NewReader("x")), 0)
	_, _ = tooLarge.Read(make([]byte, 1))
}

// Unwrap is for [http.ResponseController].
func (d duplex) Unwrap() http.ResponseWriter { return d.ResponseWriter }

// watched is a body that knows whether it was read to its end.
type watched struct {
	io.ReadCloser
	ended atomic.Bool
	mu    sync.Mutex // held while it is read
	left  bool       // the handler is over
}

// Read implements [io.Reader].
func (b *watched) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.left {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
	}
	return n, err
}
