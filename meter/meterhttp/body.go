package meterhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/meter"
)

// read reads a body, or answers why it cannot be read.
func (s *Service) read(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.MaxBody))
	if exceeded, ok := errors.AsType[*http.MaxBytesError](err); ok {
		fail(w, problem(httpguard.ProblemBodyTooLarge, fmt.Sprintf("At most %d bytes are read: send less at once.", exceeded.Limit)))
		return nil, false
	}
	if err != nil {
		fail(w, problem(httpguard.ProblemBodyIncomplete, "The body ended early: send it again."))
		return nil, false
	}
	return body, true
}

// mediaType returns the type of the body without its parameters; JSON if it is not said.
func mediaType(r *http.Request) string {
	text := r.Header.Get("Content-Type")
	if text == "" {
		return typeJSON
	}
	name, _, err := mime.ParseMediaType(text)
	if err != nil {
		return strings.ToLower(text)
	}
	return name
}

// The types that are understood.
const (
	typeJSON   = "application/json"
	typeNDJSON = "application/x-ndjson"
)

// readObject reads a body that is one JSON object into the variables of its fields, or answers why it is none.
func (s *Service) readObject(w http.ResponseWriter, r *http.Request, fields map[string]any) (seen map[string]bool, ok bool) {
	if mediaType(r) != typeJSON {
		fail(w, problem(ProblemMediaType, "Send "+typeJSON+"."))
		return nil, false
	}
	body, ok := s.read(w, r)
	if !ok {
		return nil, false
	}
	seen, err := decodeObject(body, fields)
	if err != nil {
		refusal, _ := errors.AsType[*meter.Refusal](err)
		fail(w, refused(ProblemRequestMalformed, refusal))
		return nil, false
	}
	return seen, true
}

// decodeObject reads an object with these fields, each at most once and spelled exactly so, and returns which are there. An
// error is a [*meter.Refusal].
func decodeObject(body []byte, fields map[string]any) (map[string]bool, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil, &meter.Refusal{Reason: meter.Malformed, Detail: "Send one JSON object."}
	}
	seen, err := eachField(d, func(name string) error {
		to, known := fields[name]
		if !known {
			return &meter.Refusal{Reason: meter.UnknownField, Field: shown(name), Detail: "Leave it out. The fields are " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ") + "."}
		}
		err := decodeValue(d, to)
		if _, refused := errors.AsType[*meter.Refusal](err); err == nil || refused {
			return err
		}
		return &meter.Refusal{Reason: meter.WrongType, Field: name, Detail: "Amounts are whole numbers in digits alone, ids are texts: " + strings.TrimPrefix(err.Error(), "json: ")}
	})
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &meter.Refusal{Reason: meter.Malformed, Detail: "Something follows the object: send one."}
	}
	return seen, nil
}

// eachField reads an object behind its brace, and has each value read, of a name that is there once: encoding/json takes the last of several.
func eachField(d *json.Decoder, value func(name string) error) (seen map[string]bool, err error) {
	seen = map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, &meter.Refusal{Reason: meter.DuplicateField, Field: shown(name), Detail: "It is there twice: send it once."}
		}
		if err := value(name); err != nil {
			return nil, err
		}
		seen[name] = true
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	return seen, nil
}

func notJSON(err error) error {
	return &meter.Refusal{Reason: meter.Malformed, Detail: "The body is not JSON: " + err.Error()}
}

// shown is the name of a field as far as it is told.
func shown(name string) string { return name[:min(len(name), meter.MaxID)] }

// decodeValue reads a value, of which no part is null: encoding/json takes that for nothing said, and leaves what was to be read at zero.
func decodeValue(d *json.Decoder, to any) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	for parts := json.NewDecoder(bytes.NewReader(raw)); ; {
		part, err := parts.Token()
		if err != nil {
			if err := once(raw); err != nil {
				return err
			}
			return json.Unmarshal(raw, to)
		}
		if part == nil {
			return errors.New("null is neither: leave the field out, or say what it is to be")
		}
	}
}

// once refuses an object that has a name twice.
func once(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil //nolint:nilerr // another one says what it is
	}
	_, err := eachField(d, func(string) error { return d.Decode(new(json.RawMessage)) })
	return err
}

// monthParameter reads a parameter yyyyMM; 0 if it is not there.
func monthParameter(w http.ResponseWriter, r *http.Request) (meter.Month, bool) {
	text := r.URL.Query().Get("month")
	if text == "" {
		return 0, true
	}
	m, err := meter.ParseMonth(text)
	if err != nil {
		fail(w, problem(ProblemRequestMalformed, "month: "+err.Error()))
		return 0, false
	}
	return m, true
}

// idParameter reads the id in the path.
func idParameter(w http.ResponseWriter, r *http.Request) (string, bool) {
	id := r.PathValue("id")
	if !meter.ValidID(id) {
		fail(w, problem(ProblemRequestMalformed, fmt.Sprintf("The id in the path: write 1 to %d of A-Z a-z 0-9 . _ - + @", meter.MaxID)))
		return "", false
	}
	return id, true
}
