package retryclient

import (
	"bytes"
	"io"
	"net/http"
)

// body gives each try the same bytes from the start.
type body struct {
	open   func() (io.ReadCloser, error)
	length int64
}

// bodyOf takes the body of a request over, and closes the one that came with it.
func bodyOf(req *http.Request, limit int64) (body, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return body{open: func() (io.ReadCloser, error) { return req.Body, nil }}, nil
	}
	defer req.Body.Close()
	if req.GetBody != nil {
		return body{open: req.GetBody, length: req.ContentLength}, nil
	}
	data, err := io.ReadAll(io.LimitReader(req.Body, limit+1))
	switch {
	case err != nil:
		return body{}, invalid("reading the body: %w", err)
	case int64(len(data)) > limit:
		return body{}, invalid("the body is longer than %d bytes and cannot be rewound: set Request.GetBody, or raise Options.MaxBody", limit)
	case req.ContentLength > 0 && req.ContentLength != int64(len(data)):
		return body{}, invalid("the body has %d bytes and Request.ContentLength says %d", len(data), req.ContentLength)
	}
	return body{
		open:   func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		length: int64(len(data)),
	}, nil
}
