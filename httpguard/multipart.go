package httpguard

import (
	"bytes"
	"io"
	"maps"
	"mime/multipart"
	"slices"
)

// Parts and their header lines cost more than their bytes. A body with more of them than these is compared
// as bytes, so that reading any body of the permitted size takes about as long.
const (
	maxParts     = 10_000
	maxPartLines = 40_000 // of all parts together
)

// sumParts digests a multipart body by its parts in their order, each with its headers, and not by its
// boundary, which clients choose anew for each request. False means that it is not multipart, or not to be
// read as such. The sum is valid until the workspace is used again.
func (w *workspace) sumParts(body []byte, boundary string) (sum []byte, ok bool) {
	reader := multipart.NewReader(bytes.NewReader(body), boundary)
	all, lines := w.parts[:0], 0
	defer func() { w.parts = all }()
	for range maxParts {
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
			lines += len(part.Header[name])
		}
		if lines > maxPartLines {
			return nil, false
		}
		if !w.sumContent(part) {
			return nil, false
		}
		all = w.hash.Sum(all.number(w.hash.Size()))
	}
	_, err := reader.NextRawPart()
	return all, err == io.EOF
}

// sumContent hashes a part's content. False means that the body ends before the part does.
func (w *workspace) sumContent(part io.Reader) bool {
	if w.piece == nil {
		w.piece = make([]byte, 4<<10) // as much as the part gives at once
	}
	w.hash.Reset()
	for {
		n, err := part.Read(w.piece)
		w.hash.Write(w.piece[:n])
		if err != nil {
			return err == io.EOF
		}
	}
}
