package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// result is what a proof came to, when it last ran.
type result struct {
	OK       bool      `json:"ok"`
	Tries    int       `json:"tries"`
	Seconds  int       `json:"seconds"`
	At       time.Time `json:"at"`
	Revision string    `json:"revision"` // of what was proved
}

// results are by what was shown. They are kept beside the page, because some proofs take hours: one that is run again
// replaces its own result and no other.
type results map[string]result

func readResults(path string) (results, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return results{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := results{}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s, which is written by this command and by nobody else: %w", path, err)
	}
	return r, nil
}

func (r results) write(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// tried says how much, with commas between thousands.
func (r result) tried() string {
	digits := strconv.Itoa(r.Tries)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// verdict is ok, or not.
func (r result) verdict() string {
	if r.OK {
		return "ok"
	}
	return "**FAILED**"
}
