package faulttest

import (
	"fmt"
	"strings"
	"sync"
)

// report collects what a run has found. Whoever runs it decides what becomes of that.
type report struct {
	loses bool // the store may say that it has lost its data

	mu        sync.Mutex
	breaches  []string
	undecided int // keys of which it was not found out whether their commands have an order
}

// maxBreaches are reported of one run: the first says what is wrong, the others follow from it.
const maxBreaches = 5

func (r *report) breach(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.breaches = append(r.breaches, fmt.Sprintf(format, args...))
}

func (r *report) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undecided++
}

// found returns what was found, empty if nothing was.
func (r *report) found() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.breaches[:min(len(r.breaches), maxBreaches)], "\n\t")
}

// tally adds up what was done and what was not found out.
type tally struct {
	mu              sync.Mutex
	done, undecided int
}

func (t *tally) add(done int, r *report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done += done
	if r != nil {
		t.undecided += r.undecided
	}
}

// judge tells what was done. What was not found out may be a little, on a machine that is very busy.
func (t *tally) judge(r reporter, what string) {
	r.Logf("%d %s, of which %d keys were not found out about", t.done, what, t.undecided)
	if t.undecided > 1+t.done/20 {
		r.Errorf("of %d %s, whether the commands on %d keys have an order was not found out", t.done, what, t.undecided)
	}
}
