package faulttest

import (
	"fmt"
	"strings"
	"sync"
)

// report collects what a run has found. Whoever runs it decides what becomes of that.
type report struct {
	loses bool // the store may say that it has lost its data

	mu       sync.Mutex
	breaches []string
}

// maxBreaches are reported of one run: the first says what is wrong, the others follow from it.
const maxBreaches = 5

func (r *report) breach(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breaches = append(r.breaches, fmt.Sprintf(format, args...))
}

// found returns what was found, empty if nothing was.
func (r *report) found() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.breaches[:min(len(r.breaches), maxBreaches)], "\n\t")
}
