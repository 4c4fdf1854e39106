package httpguard

import (
	"bufio"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// An answer that leaves before its end is known cannot be kept. It is recorded as "not kept" first, so
// that a retry is refused and not run again, however the stream ends.

// leave records that the answer is not kept, and sends what was held. From then on bytes pass. Answers
// that are not final are recorded when the handler returns; if that never happens, the key is unknown.
func (c *recorder) leave(status int) error {
	recorded, err := c.commit(status)
	if err != nil {
		return err
	}
	c.state, c.passed = streaming, true
	if !recorded {
		c.out.Header().Set(HeaderRecorded, "false")
	}
	c.tell()
	c.options.leaveUntyped(c.out.Header())
	c.out.WriteHeader(status)
	_, err = c.out.Write(c.body.Bytes())
	c.body.Reset()
	return err
}

// commit records a final answer as not kept, and reports whether the store has confirmed that. When it is
// refused, so is every further write, the handler's context ends, as it may be waiting for more to write,
// and the client is told what the record says.
func (c *recorder) commit(status int) (recorded bool, err error) {
	if verdict, _ := c.verdict(); verdict != Final {
		return false, nil
	}
	if err := c.run.Complete(c.ctx, note(status)); err != nil {
		c.state = refused
		c.abort(err)
		return false, errRefused
	}
	return c.run.Recorded(), nil
}

// Flush implements [http.Flusher].
func (c *recorder) Flush() { _ = c.FlushError() }

// FlushError is what [http.ResponseController.Flush] calls.
func (c *recorder) FlushError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state {
	case hijacked:
		return http.ErrHijacked
	case refused:
		return errRefused
	case settled:
		return errSettled
	}
	if c.status == 0 {
		c.freeze(http.StatusOK)
	}
	if c.state == holding {
		if c.options.Upstream && !Endless(c.out.Header().Get("Content-Type")) {
			// Reverse proxies flush each answer whose length they do not know. It ends all the same.
			return nil
		}
		if err := c.leave(c.status); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.out).Flush()
}

// Endless reports whether answers of a content type are made to be read while they are written, so that
// holding them until their end would hold them for ever.
func Endless(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	switch media {
	case "text/event-stream", "application/x-ndjson", "application/jsonl", "multipart/x-mixed-replace":
		return true
	}
	return strings.HasPrefix(media, "application/grpc")
}

// Hijack implements [http.Hijacker].
func (c *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state {
	case hijacked:
		return nil, nil, http.ErrHijacked
	case refused:
		return nil, nil, errRefused
	case settled:
		return nil, nil, errSettled
	}
	if !canHijack(c.out) {
		return nil, nil, http.ErrNotSupported // and the answer can still be an ordinary one
	}
	if c.state == holding {
		if err := c.commitHijack(); err != nil {
			return nil, nil, err
		}
	}
	c.state, c.passed = hijacked, true
	return http.NewResponseController(c.out).Hijack()
}

// commitHijack records an answer that the handler is about to write to the connection itself.
func (c *recorder) commitHijack() error {
	if c.status != 0 {
		return c.leave(c.status)
	}
	c.status = http.StatusSwitchingProtocols
	_, err := c.commit(c.status) // no header can say whether it is recorded
	return err
}

func canHijack(w http.ResponseWriter) bool {
	for {
		switch t := w.(type) {
		case http.Hijacker:
			return true
		case interface{ Unwrap() http.ResponseWriter }:
			w = t.Unwrap()
		default:
			return false
		}
	}
}

// SetReadDeadline is what [http.ResponseController.SetReadDeadline] calls.
func (c *recorder) SetReadDeadline(t time.Time) error {
	return http.NewResponseController(c.out).SetReadDeadline(t)
}

// SetWriteDeadline is what [http.ResponseController.SetWriteDeadline] calls.
func (c *recorder) SetWriteDeadline(t time.Time) error {
	return http.NewResponseController(c.out).SetWriteDeadline(t)
}

// EnableFullDuplex is what [http.ResponseController.EnableFullDuplex] calls. The request's body has
// been read by then, so there is nothing to enable.
func (c *recorder) EnableFullDuplex() error { return nil }
