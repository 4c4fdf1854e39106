package httpguard

import (
	"bytes"
	"crypto/sha256"
	"io"
	"maps"
	"mime/multipart"
	"slices"
)

// sumParts digests a multipart body by its parts in their order, each with its headers, and not by its
// boundary, which clients choose anew for each request. False means that it is not multipart.
func sumParts(body []byte, boundary string) ([]byte, bool) {
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	var all frames
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF { // itself: a body that was cut short gives an error which wraps it
			return all, true
		}
		if err != nil {
			return nil, false
		}
		all = all.number(len(part.Header))
		for _, name := range slices.Sorted(maps.Keys(part.Header)) {
			all = all.text(name).number(len(part.Header[name]))
			for _, value := range part.Header[name] {
				all = all.text(value)
			}
		}
		content := sha256.New()
		if _, err := io.Copy(content, part); err != nil {
			return nil, false
		}
		all = all.bytes(content.Sum(nil))
	}
}
