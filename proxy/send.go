package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// sendError says why there is no answer, and whether the upstream may have seen the request.
type sendError struct {
	sent  bool
	cause error
}

func (e *sendError) Error() string {
	if e.sent {
		return fmt.Sprintf("sent, and no whole answer: %v", e.cause)
	}
	return fmt.Sprintf("not sent: %v", e.cause)
}

func (e *sendError) Unwrap() error { return e.cause }

// errTimeout is the cause when the upstream takes too long.
var errTimeout = errors.New("the upstream took longer than upstream-timeout")

// sender is a [http.RoundTripper] that sends a request once. Its errors are all *sendError.
type sender struct {
	pool *pool
	life context.Context // when it ends, so does what is being sent
	// timeout bounds the wait for the answer's header, and for each next piece of its body. Zero: no bound.
	timeout time.Duration
	observe func(sent bool, err error)
}

// RoundTrip implements [http.RoundTripper].
func (s *sender) RoundTrip(request *http.Request) (*http.Response, error) {
	if s.life.Err() != nil { // who comes after that was held up before, and is not sent first and cut off then
		err := &sendError{cause: context.Cause(s.life)}
		s.observe(false, err)
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	uncut := context.AfterFunc(s.life, func() { cancel(context.Cause(s.life)) })
	limit := &limit{length: s.timeout, cancel: cancel}
	response, err := s.try(request.WithContext(ctx), limit)
	if err != nil {
		limit.stop()
		if cause := context.Cause(ctx); cause != nil {
			err.cause = cause
		}
		uncut()
		cancel(nil)
		s.observe(err.sent, err)
		return nil, err
	}
	s.observe(true, nil)
	limit.stop()
	response.Request = request
	if writer, ok := response.Body.(io.Writer); ok { // an upgrade: the connection is handed over
		uncut()
		response.Body = &handover{ReadCloser: response.Body, Writer: writer}
		return response, nil
	}
	response.Body = &limitedBody{ReadCloser: response.Body, limit: limit, ctx: ctx, end: func() { uncut(); limit.stop(); cancel(nil) }}
	return response, nil
}

// try sends the request on a connection that waits, or on a fresh one. Where the waiting one turns out to
// be dead before anything was written on it, it sends on a fresh one.
func (s *sender) try(request *http.Request, limit *limit) (*http.Response, *sendError) {
	if request.URL.Host == "" || request.Header == nil {
		return nil, &sendError{cause: errors.New("the request has no host or no header")}
	}
	c, reused, err := s.pool.get(request.Context())
	if err != nil {
		return nil, &sendError{cause: err}
	}
	limit.restart() // connecting has a limit of its own
	body := newBody(request)
	response, failed := c.send(request, body)
	if failed == nil || failed.sent || !reused || request.Context().Err() != nil {
		return response, failed
	}
	if body.begun.Load() { // the header is written before the body is read, so this does not happen
		return nil, failed
	}
	if c, err = s.pool.dial(request.Context()); err != nil {
		return nil, &sendError{cause: err}
	}
	limit.restart()
	return c.send(request, body)
}

// send uses the connection, which is reserved, for one request.
func (c *conn) send(request *http.Request, body *body) (*http.Response, *sendError) {
	var begun atomic.Bool // HTTP/2: a header of this request went to the encoder
	var mark int64
	if c.wire != nil {
		mark = c.wire.mark()
	}
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		WroteHeaderField: func(string, []string) { begun.Store(true) },
	})
	once := request.WithContext(ctx)
	once.Body, once.GetBody = body.reader(), nil
	response, err := c.client.RoundTrip(once)
	if err == nil {
		return response, nil
	}
	if c.wire != nil {
		return nil, &sendError{sent: c.wire.seal(mark), cause: err}
	}
	// A stream that ended with its context may still be writing. One that was refused was not looked at,
	// by the protocol's own word (RFC 9113, 8.7).
	sent := (begun.Load() || ctx.Err() != nil) && !refused(err)
	return nil, &sendError{sent: sent, cause: err}
}

// refused reports whether an HTTP/2 upstream refused the stream before any processing.
func refused(err error) bool {
	var e streamError
	return errors.As(err, &e) && e.Code == refusedStream
}

const refusedStream streamCode = 7

// streamError has the form that net/http's HTTP/2 stream errors let errors.As convert them to.
type streamError struct {
	StreamID uint32
	Code     streamCode
	Cause    error
}

type streamCode uint32

func (e streamError) Error() string { return fmt.Sprintf("stream %d: code %d", e.StreamID, e.Code) }

// body is a request's body, which knows whether reading it has begun.
type body struct {
	io.ReadCloser
	begun atomic.Bool
}

func newBody(request *http.Request) *body {
	if request.Body == http.NoBody {
		return &body{}
	}
	return &body{ReadCloser: request.Body}
}

// reader returns the body for a request: nil where there is none.
func (b *body) reader() io.ReadCloser {
	if b.ReadCloser == nil {
		return nil
	}
	return b
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	b.begun.Store(true)
	return b.ReadCloser.Read(p)
}

// Close leaves the body open, for another connection: who made the request closes it.
func (b *body) Close() error { return nil }

// limit cancels what it limits when it is not stopped in time. A length of zero is no limit.
type limit struct {
	length time.Duration
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (l *limit) stop() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

func (l *limit) restart() {
	switch {
	case l.length <= 0:
	case l.timer == nil:
		l.timer = time.AfterFunc(l.length, func() { l.cancel(errTimeout) })
	default:
		l.timer.Reset(l.length)
	}
}

// limitedBody bounds the wait for each piece of an answer.
type limitedBody struct {
	io.ReadCloser
	limit *limit
	ctx   context.Context
	end   func()
	once  sync.Once
}

// Read implements [io.Reader]. An error other than the end is a *sendError: the answer is not whole.
func (b *limitedBody) Read(p []byte) (int, error) {
	b.limit.restart()
	n, err := b.ReadCloser.Read(p)
	b.limit.stop()
	if err != nil && err != io.EOF {
		if cause := context.Cause(b.ctx); cause != nil {
			err = cause
		}
		err = &sendError{sent: true, cause: err}
	}
	return n, err
}

// Close implements [io.Closer].
func (b *limitedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.end)
	return err
}

// handover is the connection of an upgrade, which has no limits.
type handover struct {
	io.ReadCloser
	io.Writer
}
