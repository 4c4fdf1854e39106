package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// host stands in for a test: the servers of internal/servicetest ask for one, to end with it and to say
// what went wrong.
type host struct {
	testing.TB // nil: a TB has methods that only package testing can write. Those below are all that is called
	ctx        context.Context
	cleanups   []func()
	failure    error
}

// errGivenUp is what a host panics with where a test would end at once.
var errGivenUp = errors.New("given up")

// try runs what needs a test.
func (h *host) try(work func()) (err error) {
	defer func() {
		if r := recover(); r != nil && r != errGivenUp {
			panic(r)
		}
		err = h.failure
	}()
	work()
	return h.failure
}

// end does what is done when a test ends.
func (h *host) end() error {
	return h.try(func() {
		for _, cleanup := range slices.Backward(h.cleanups) {
			cleanup()
		}
	})
}

func (h *host) Helper()                  {}
func (h *host) Context() context.Context { return h.ctx }
func (h *host) Cleanup(f func())         { h.cleanups = append(h.cleanups, f) }
func (h *host) Failed() bool             { return h.failure != nil }

func (h *host) Logf(format string, args ...any) { h.Errorf(format, args...) }

func (h *host) Errorf(format string, args ...any) {
	h.failure = errors.Join(h.failure, fmt.Errorf(format, args...))
}

func (h *host) Fatalf(format string, args ...any) {
	h.Errorf(format, args...)
	panic(errGivenUp)
}

func (h *host) Skip(why ...any) { h.Fatalf("%s", fmt.Sprint(why...)) }
