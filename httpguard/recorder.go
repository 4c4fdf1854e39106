package httpguard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"

	"github.com/reprise-dev/reprise"
)

// recorder is the response writer of a guarded handler. It holds the answer back until it is recorded.
// A handler's goroutines that outlive it reach nothing: after the answer is settled, writes fail.
type recorder struct {
	ctx     context.Context
	out     http.ResponseWriter // the client's
	run     *reprise.Run
	abort   context.CancelCauseFunc // ends the handler's context
	rules   judgement
	options *Options
	private private

	header http.Header // the handler's view
	outer  http.Header // what out's headers were before the handler

	mu       sync.Mutex
	state    recorderState
	status   int   // zero until the handler says it
	declared int64 // Content-Length as the handler set it; -1: not
	written  int64
	body     *bytes.Buffer
	bodyless bool    // the answer to a HEAD request
	passed   bool    // something has left, or the connection is not ours
	said     Verdict // by the upstream, in its answer
	reported Verdict // by the handler, which has the last word
	why      string
}

type recorderState uint8

const (
	holding   recorderState = iota // nothing has left
	streaming                      // what is written leaves at once
	hijacked                       // the connection is the handler's
	refused                        // the answer must not leave: the key is not ours any more
	settled                        // the handler has returned
)

var (
	errSettled = errors.New("httpguard: the handler has returned")
	errRefused = errors.New("httpguard: the key was taken over or settled meanwhile; the answer is not sent")
)

func (c *recorder) begin(run *reprise.Run) {
	c.run = run
	c.header = make(http.Header, 8)
	if outer := c.out.Header(); len(outer) > 0 {
		c.outer = outer.Clone()
		replaceHeader(c.header, c.outer.Clone())
	}
}

// Header implements [http.ResponseWriter].
func (c *recorder) Header() http.Header { return c.header }

// WriteHeader implements [http.ResponseWriter]. Informational answers pass at once.
func (c *recorder) WriteHeader(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != holding || c.status != 0 {
		return
	}
	if status < 100 || status > 999 {
		// As net/http does, and now rather than at every replay.
		panic(fmt.Sprintf("httpguard: invalid status %d", status))
	}
	if status < 200 && status != http.StatusSwitchingProtocols {
		replaceHeader(c.out.Header(), c.header)
		c.out.WriteHeader(status)
		replaceHeader(c.out.Header(), c.outer)
		return
	}
	c.freeze(status)
}

// freeze fixes status and headers, as the first byte does.
func (c *recorder) freeze(status int) {
	c.status, c.declared = status, -1
	header := c.out.Header()
	replaceHeader(header, c.header)
	if length := header.Get("Content-Length"); length != "" {
		n, err := strconv.ParseInt(length, 10, 64)
		if err != nil || n < 0 {
			header.Del("Content-Length")
		} else {
			c.declared = n
		}
	}
	if c.options.Upstream {
		c.said = effectSaid(header)
		// What another guard behind this one says of its own record would be taken for this one's.
		for _, name := range ownHeaders {
			header.Del(name)
		}
	}
}

// Write implements [http.ResponseWriter].
func (c *recorder) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.state {
	case hijacked:
		return 0, http.ErrHijacked
	case refused:
		return 0, errRefused
	case settled:
		return 0, errSettled
	}
	if c.status == 0 {
		c.freeze(http.StatusOK)
	}
	if !bodyAllowed(c.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if c.declared >= 0 && c.written+int64(len(p)) > c.declared {
		return 0, http.ErrContentLength // and none of it counts, as with net/http
	}
	c.written += int64(len(p))
	if c.bodyless {
		return len(p), nil
	}
	if limit := int64(c.options.MaxKept); c.state == holding && max(c.written, c.declared) > limit {
		if err := c.leave(c.status); err != nil {
			return 0, err
		}
	}
	if c.state == streaming {
		return c.out.Write(p)
	}
	return c.body.Write(p)
}

// bodyAllowed reports whether answers of a status can have a body.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

func (c *recorder) report(verdict Verdict, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == holding {
		c.reported, c.why = verdict, c.private.scrub(why)
	}
}

// verdict returns what the answer means, and why.
func (c *recorder) verdict() (Verdict, string) {
	switch {
	case c.reported != 0:
		return c.reported, c.why
	case c.said != 0:
		return c.said, HeaderNoEffect + ": " + string(c.said.effect())
	}
	return c.rules.of(c.status), ""
}

// hasLeft reports whether the client has a part of the answer, or the handler the connection.
func (c *recorder) hasLeft() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed
}

// settle ends the recording when the handler has returned, and gives the guard what came of it. An answer
// that was aborted is none.
func (c *recorder) settle(aborted error) (reprise.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.state
	c.state = settled
	if before == refused {
		return reprise.Response{}, errRefused
	}
	if aborted != nil {
		return reprise.Response{}, aborted
	}
	if c.status == 0 {
		c.freeze(http.StatusOK)
	}
	verdict, why := c.verdict()
	if before != holding {
		return note(c.status), verdict.wrap(c.status, why)
	}
	if short := c.declared > c.written && !c.bodyless && bodyAllowed(c.status); short && verdict == Final {
		verdict, why = Unknown, "the answer ended before its Content-Length"
	}
	return c.response(), verdict.wrap(c.status, why)
}

// response encodes the answer that was held, or notes that it is too large with its headers.
func (c *recorder) response() reprise.Response {
	header := c.out.Header()
	if c.bodyless && c.declared < 0 && c.written > 0 {
		header.Set("Content-Length", strconv.FormatInt(c.written, 10))
	}
	metadata := c.bodyless || c.status == http.StatusNotModified // of the length that a body would have
	response := Answer{Status: c.status, Header: c.keptHeader(header, metadata), Body: c.body.Bytes()}.Response()
	if len(response.Data) > c.options.MaxKept {
		return note(c.status)
	}
	return response
}
