package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
)

// upstream is where requests are forwarded to.
type upstream struct {
	url                        *url.URL
	clientHost, trustForwarded bool
	pool                       *pool           // for requests that must be sent once
	shared                     *http.Transport // for those that have no effect
	buffers                    *buffers
	log                        *slog.Logger
	sent                       func(sent bool, err error)

	life context.Context // of what is being sent
	cut  context.CancelCauseFunc
}

func newUpstream(s Settings, sent func(bool, error)) *upstream {
	u := &upstream{
		url: s.Upstream, clientHost: s.ClientHost, trustForwarded: s.TrustForwarded, log: s.Log, sent: sent,
		pool: newPool(s.Upstream, s.TLS), shared: newShared(s.TLS), buffers: &buffers{},
	}
	u.life, u.cut = context.WithCancelCause(context.Background())
	return u
}

// sender returns a transport that sends once.
func (u *upstream) sender(timeout time.Duration) *sender {
	return &sender{pool: u.pool, life: u.life, timeout: timeout, observe: u.sent}
}

// newShared returns the transport for requests without an effect, for which net/http's is right as it is.
func newShared(config *tls.Config) *http.Transport {
	if config != nil {
		config = config.Clone()
	}
	return &http.Transport{
		DialContext:            dialTimed,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    dialTimeout,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           maxIdlePerPool,
		MaxIdleConnsPerHost:    maxIdlePerPool,
		IdleConnTimeout:        maxIdleTime,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxResponseHeader,
	}
}

// close ends idle connections, now and as they become idle.
func (u *upstream) close() {
	u.pool.close()
	u.shared.CloseIdleConnections()
	u.cut(errStopping)
}

// plain returns the handler of requests that are not guarded. They pass as they are, both ways, and as
// long as they take.
func (u *upstream) plain() http.Handler {
	harmless := u.proxy(telling{u.shared})
	once := u.proxy(u.sender(0))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if held, ok := r.Body.(*pausedBody); ok {
			r = r.WithContext(r.Context())
			r.Body = held.unlimited()
		}
		w = untyped{w}
		if safe(r.Method) {
			harmless.ServeHTTP(w, r)
		} else {
			answer, watching, leave := newDuplex(w, r)
			defer leave()
			once.ServeHTTP(answer, watching)
		}
	})
}

// untyped keeps net/http from guessing the type of an answer that has none. That is said with the answer: what the header had before
// is gone with an informational one.
type untyped struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (u untyped) WriteHeader(status int) {
	if _, typed := u.Header()["Content-Type"]; !typed && status >= 200 {
		u.Header()["Content-Type"] = nil
	}
	u.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (u untyped) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// proxy returns the reverse proxy that all requests share but for what the guarded ones add.
func (u *upstream) proxy(transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:    u.rewrite,
		Transport:  transport,
		BufferPool: u.buffers,
		// What an answer says to a guard passes: without one of this proxy it is for the one in front.
		ModifyResponse: usable,
		ErrorLog:       slog.NewLogLogger(u.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil { // else the client is gone
				u.log.Warn("no answer from the upstream", "method", r.Method, "error", err)
			}
			httpguard.WriteProblem(w, unanswered(r.Method, mayHaveArrived(err)))
		},
	}
}

// usable refuses an answer that cannot be passed on. The reverse proxy closes what it came on.
func usable(r *http.Response) error {
	if r.StatusCode < 100 {
		return fmt.Errorf("the upstream's status %03d is none", r.StatusCode)
	}
	if r.StatusCode == http.StatusSwitchingProtocols {
		asked, is := r.Request.Header.Get("Upgrade"), r.Header.Get("Upgrade")
		if asked == "" || !strings.EqualFold(asked, is) {
			return fmt.Errorf("the upstream switches to protocol %q, and was asked for %q", is, asked)
		}
	}
	return nil
}

// rewrite makes the request for the upstream from the client's.
func (u *upstream) rewrite(p *httputil.ProxyRequest) {
	p.SetURL(u.url)
	p.Out.URL.RawQuery = p.In.URL.RawQuery // as it was written: it is part of what makes a request the same
	if u.clientHost {
		p.Out.Host = p.In.Host
	}
	if !u.trustForwarded {
		p.SetXForwarded()
		return
	}
	const by, host, protocol = "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"
	p.Out.Header[by] = p.In.Header[by]
	p.SetXForwarded()
	for _, name := range []string{host, protocol, "Forwarded"} {
		if values, ok := p.In.Header[name]; ok {
			p.Out.Header[name] = values
		}
	}
}

// telling is a transport whose errors say whether anything can have been sent.
type telling struct{ *http.Transport }

// RoundTrip implements [http.RoundTripper].
func (t telling) RoundTrip(request *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	response, err := t.Transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, &sendError{sent: connected.Load(), cause: err}
	}
	return response, nil
}

// mayHaveArrived reports whether the upstream may have seen the request that failed.
func mayHaveArrived(err error) bool {
	var e *sendError
	return !errors.As(err, &e) || e.sent
}

// unanswered is the problem of a request that has no answer.
func unanswered(method string, arrived bool) httpguard.Problem {
	switch {
	case arrived && safe(method):
		return httpguard.Problem{Type: httpguard.ProblemUpstreamNoAnswer, Detail: "A " + method + " request asks for no effect: send it again."}
	case arrived:
		return httpguard.Problem{Type: httpguard.ProblemUpstreamNoAnswer,
			Detail: "It may have taken effect. Do not send it again under another key; ask what became of it first."}
	}
	return httpguard.Problem{Type: httpguard.ProblemUpstreamUnreachable,
		Detail: "Nothing happened. Send the request again, with the same key.", RetryAfter: time.Second}
}

// buffers is a [httputil.BufferPool].
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

// Get implements [httputil.BufferPool].
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

// Put implements [httputil.BufferPool].
func (b *buffers) Put(p []byte) { b.pool.Put((*[bufferSize]byte)(p)) }

// digest names the record of the request that runs in ctx, for the log.
func digest(ctx context.Context) slog.Attr {
	if run := httpguard.RunFrom(ctx); run != nil {
		return slog.String("record", run.Digest().String())
	}
	return slog.Attr{}
}
