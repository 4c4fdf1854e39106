package retryclient_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// script is a server that answers each request with the next of its lines, and the last for ever. It
// notes what it was sent.
type script struct {
	answers []answer
	keys    []string
	bodies  []string
	at      []time.Time
	open    int // response bodies that were not closed
}

type answer func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Now())
	s.keys = append(s.keys, strings.Join(req.Header.Values("Idempotency-Key"), "|"))
	sent := ""
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		_ = req.Body.Close()
		sent = string(b)
	}
	s.bodies = append(s.bodies, sent)
	next := s.answers[min(len(s.at), len(s.answers))-1]
	response, err := next(req)
	if response != nil {
		s.open++
		response.Request = req
		response.Body = &watched{response.Body, s}
	}
	return response, err
}

type watched struct {
	io.ReadCloser
	script *script
}

func (w *watched) Close() error {
	w.script.open--
	return w.ReadCloser.Close()
}

// pauses are the times between the requests.
func (s *script) pauses() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.at); i++ {
		all = append(all, s.at[i].Sub(s.at[i-1]))
	}
	return all
}

func says(status int, header ...string) answer {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(fmt.Sprint(status)))}, nil
	}
}

// objects is a problem document of Reprise.
func objects(status int, kind string, header ...string) answer {
	plain := says(status, append(header, "Content-Type", "application/problem+json; charset=utf-8")...)
	return func(req *http.Request) (*http.Response, error) {
		response, err := plain(req)
		response.Body = io.NopCloser(strings.NewReader(
			`{"type":"urn:reprise:problem:` + kind + `","title":"Title","detail":"detail of ` + kind + `","status":` + fmt.Sprint(status) + `}`))
		return response, err
	}
}

var errBroken = errors.New("connection broken")

func breaks(*http.Request) (*http.Response, error) { return nil, errBroken }

// post makes a call; a response is closed at the end of the test, after it was read.
func post(t *testing.T, client *http.Client, body string) (*http.Response, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://orders.test/orders", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return do(t, client, req)
}

func do(t *testing.T, client *http.Client, req *http.Request) (*http.Response, string, error) {
	t.Helper()
	response, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(read), nil
}
