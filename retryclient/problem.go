package retryclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// The types of problem documents (RFC 9457) by which a guard says more than a status can. They are
// known by their type and not by their status, which a server may have been configured to change. Services have types
// of their own under the same prefix: those mean what their status means.
const (
	problemPrefix       = "urn:reprise:problem:"
	problemInProgress   = problemPrefix + "in-progress"
	problemUnknown      = problemPrefix + "outcome-unknown"
	problemKeyReused    = problemPrefix + "key-reused"
	problemExpired      = problemPrefix + "answer-expired"
	problemNotKept      = problemPrefix + "answer-not-kept"
	problemIncompatible = problemPrefix + "answer-incompatible"
	problemUnreachable  = problemPrefix + "upstream-unreachable"
	problemNoAnswer     = problemPrefix + "upstream-no-answer"
	problemUnavailable  = problemPrefix + "store-unavailable"
	problemLost         = problemPrefix + "store-lost"
	problemUnreadable   = problemPrefix + "record-unreadable"
	problemNoPrincipal  = problemPrefix + "principal-unavailable"

	// Refused before the key was looked at.
	problemNoKey         = problemPrefix + "key-missing"
	problemBadKey        = problemPrefix + "key-malformed"
	problemWhoAsks       = problemPrefix + "principal-missing"
	problemBadPrincipal  = problemPrefix + "principal-invalid"
	problemTooLarge      = problemPrefix + "body-too-large"
	problemIncomplete    = problemPrefix + "body-incomplete"
	problemMisconfigured = problemPrefix + "misconfigured"
)

// maxProblem bounds how much of a problem document is read.
const maxProblem = 64 << 10

type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Detail   string `json:"detail"`
	document []byte
}

// said returns what the problem says to a person.
func (p problem) said() string {
	if p.Detail != "" {
		return p.Detail
	}
	return p.Title
}

// problemOf reads the problem document of a response that has one of ours, and leaves the response as
// it was, to be read by whoever gets it. Everything else is the zero problem. An error says that the document broke off: what the
// response means is not known then.
func problemOf(response *http.Response) (problem, error) {
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || media != "application/problem+json" || response.StatusCode < 400 {
		return problem{}, nil
	}
	read, err := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	response.Body = rest{io.MultiReader(bytes.NewReader(read), response.Body), response.Body}
	var p problem
	switch {
	case err != nil:
		return problem{}, fmt.Errorf("the server answered %s, and its problem document broke off: %w", response.Status, err)
	case json.Unmarshal(read, &p) != nil || !strings.HasPrefix(p.Type, problemPrefix):
		return problem{}, nil
	}
	p.document = read
	return p, nil
}

// rest is a body of which the beginning was read already.
type rest struct {
	io.Reader
	io.Closer
}

// discard ends with a response so that its connection can be used again.
func discard(response *http.Response) {
	if response != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxProblem))
		_ = response.Body.Close()
	}
}
