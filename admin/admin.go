// Package admin is what an operator does with the records of a store: list them, look at one, settle
// what nobody knows, purge what is over, and give up an old secret.
//
// It works on digests, needs no secret, and never shows an owner token (no store has one) or a
// recorded answer, except through [Service.Response]. The command line, the HTTP API and the console
// are different ways to call it.
package admin

import (
	"errors"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// What an error says. Errors of the store come through as they are: see package store.
var (
	// ErrNotFound: there is no record of that digest. It may have been forgotten.
	ErrNotFound = errors.New("no such record")
	// ErrStale: the record has changed since it was judged. The error is a [*ConflictError].
	ErrStale = errors.New("record has changed")
	// ErrWrongState: what was asked does not apply to the record's state. The error is a [*ConflictError].
	ErrWrongState = errors.New("record is in another state")
	// ErrInvalid: what was asked makes no sense. Nothing was changed.
	ErrInvalid = errors.New("invalid")
	// ErrInUse: a version of the secret is still needed. Where records are why, the error is a [*InUseError].
	ErrInUse = errors.New("secret is still in use")
)

// Options tune a [Service]. Zero means the default named at the field.
type Options struct {
	// Window is how long an answer given by settling replays. Default 24 h.
	Window time.Duration
	// Remember is how long a settled record is remembered. Default 7 days.
	Remember time.Duration
	// Batch is how many records one step of a purge or of a scan takes, at most 1000. Default 500.
	Batch int
	// Timeout bounds each exchange with the store while settling. Default 5 s.
	Timeout time.Duration
	// Tries is how often a settlement whose reply was lost is sent. Default 5.
	Tries int
}

// Service administers the records of one store. It can be used by several goroutines.
type Service struct {
	store   store.Store
	options Options
}

// New returns a service over a store, which stays the caller's to close.
func New(s store.Store, o Options) *Service {
	o.Window = orDefault(o.Window, 24*time.Hour)
	o.Remember = orDefault(o.Remember, max(o.Window, 7*24*time.Hour))
	o.Batch = min(orDefault(o.Batch, 500), 1000)
	o.Timeout = orDefault(o.Timeout, 5*time.Second)
	o.Tries = orDefault(o.Tries, 5)
	return &Service{store: s, options: o}
}

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}
