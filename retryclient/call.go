package retryclient

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
)

// call is one logical call: what all its tries share.
type call struct {
	transport *Transport
	request   *http.Request
	key       key
	body      body

	tries    int
	possible bool // the effect may have happened
}

// run tries until there is an answer, a refusal, or no use in going on.
func (c *call) run(ctx context.Context, pace *pace) (*http.Response, error) {
	for {
		response, answer, again, err := c.try(ctx)
		if response != nil {
			v := judge(response, answer, c.transport.options.RetryStatuses, c.possible)
			if v.refused != nil {
				return nil, c.refused(v.refused, response, answer)
			}
			c.learn(v.effect)
			again = v.again
		}
		pause, allowed := pace.next(c.tries, response)
		if !again || !allowed {
			return c.last(response, answer, err)
		}
		discard(response)
		if err := pauseFor(ctx, pause); err != nil {
			return c.last(nil, problem{}, err)
		}
	}
}

// try sends the request once. Without a response it says whether another try makes sense. A response whose problem document broke off is
// none: what it means is not known.
func (c *call) try(ctx context.Context) (response *http.Response, answer problem, again bool, err error) {
	body, err := c.body.open()
	if err != nil {
		return nil, answer, false, invalid("rewinding the body: %w", err)
	}
	var sends sends
	out := c.request.Clone(sends.watch(ctx))
	if out.Header == nil {
		out.Header = http.Header{}
	}
	out.Header.Set(c.transport.options.Header, c.key.header)
	// Without GetBody the base cannot repeat a request with a body by itself: tries are counted here.
	out.Body, out.GetBody, out.ContentLength = body, nil, c.body.length
	response, err = c.transport.base.RoundTrip(out)
	c.tries += sends.tries()
	if err == nil {
		if answer, err = problemOf(response); err == nil {
			return response, answer, false, nil
		}
		discard(response)
		c.learn(possible)
		return nil, answer, ctx.Err() == nil, err
	}
	told := plainHTTP(c.transport.base, c.request.URL.Scheme)
	if !sends.nothingLeft(told) {
		c.learn(possible)
	}
	return nil, answer, ctx.Err() == nil && !sends.neverAsked(told) && !untrusted(err), err
}

func (c *call) learn(e effect) {
	if e != unsaid {
		c.possible = e == possible
	}
}

// untrusted reports an error that the next try would meet again: the server cannot prove who it is.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}

// last ends a call after its last try: with the answer, or an error that says whether the effect may
// have happened.
func (c *call) last(response *http.Response, answer problem, err error) (*http.Response, error) {
	if !c.possible {
		return response, err
	}
	unknown := &UnknownError{Key: c.key.plain, Tries: c.tries, Cause: err}
	if response != nil {
		unknown.Status, unknown.Detail = response.StatusCode, answer.said()
		discard(response)
	}
	return nil, unknown
}

func (c *call) refused(kind error, response *http.Response, answer problem) error {
	discard(response)
	return &RefusedError{
		Kind: kind, Key: c.key.plain, Status: response.StatusCode, Detail: answer.said(), Document: answer.document,
	}
}
