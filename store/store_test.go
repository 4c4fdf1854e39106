package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func TestErrorsSayWhatIsKnown(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"unavailable":            {store.Unavailable(cause), store.ErrUnavailable},
		"indeterminate":          {store.Indeterminate(cause), store.ErrIndeterminate},
		"lost":                   {fmt.Errorf("bucket 7: %w", store.ErrLost), store.ErrLost},
		"corrupt":                {store.Corrupt(machine.Digest{1}, cause), store.ErrCorrupt},
		"unsupported":            {fmt.Errorf("list: %w", store.ErrUnsupported), store.ErrUnsupported},
		"schema":                 {fmt.Errorf("version 9: %w", store.ErrSchema), store.ErrSchema},
		"of another kind":        {cause, store.ErrIndeterminate},
		"a context that ended":   {context.DeadlineExceeded, store.ErrIndeterminate},
		"unavailable, by a time": {store.Unavailable(context.DeadlineExceeded), store.ErrUnavailable},
	} {
		if got := store.Classify(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	if !errors.Is(store.ErrLost, store.ErrUnavailable) || errors.Is(store.ErrUnavailable, store.ErrLost) {
		t.Error("lost is unavailable, and not the other way round")
	}
	if err := store.Corrupt(machine.Digest{1}, cause); !errors.Is(err, cause) || !strings.Contains(err.Error(), machine.Digest{1}.String()) {
		t.Errorf("neither cause nor record in %v", err)
	}
}

func TestNotSent(t *testing.T) {
	t.Parallel()
	if err := store.NotSent(t.Context()); err != nil {
		t.Errorf("a live context: %v", err)
	}
	why := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := store.NotSent(ctx); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, why) {
		t.Errorf("an ended context: %v", err)
	}
}

// plain is a store with nothing beside its verb; wrapped is a decorator; counting can count.
type plain struct{}

func (plain) Apply(context.Context, machine.Command) (machine.Reply, error) {
	return machine.Reply{}, nil
}
func (plain) Close() error { return nil }

type counting struct{ plain }

func (counting) Count(context.Context) (store.Counts, error) { return store.Counts{Due: 7}, nil }

type wrapped struct{ store.Store }

func (w wrapped) Unwrap() store.Store { return w.Store }

func TestAsLooksBehindDecorators(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		store store.Store
		found bool
	}{
		"plain":             {plain{}, false},
		"itself":            {counting{}, true},
		"behind two":        {wrapped{wrapped{counting{}}}, true},
		"plain behind one":  {wrapped{plain{}}, false},
		"nothing behind it": {wrapped{}, false},
		"no store":          {nil, false},
	} {
		if _, found := store.As[store.Counter](tc.store); found != tc.found {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

func TestAdmitSecret(t *testing.T) {
	t.Parallel()
	const now = machine.Instant(1_000_000_000)
	ahead := time.Minute
	check := func(n byte) machine.Digest { return machine.Digest{n} }
	first := store.Secret{Version: 1, Check: check(1)}
	second := store.Secret{Version: 2, Check: check(2), PrimaryFrom: now.Add(time.Hour)}
	moved := func(from machine.Instant) store.Secret {
		return store.Secret{Version: store.MovedMark, Check: check(9), PrimaryFrom: from}
	}
	errAny := errors.New("some error")
	for name, tc := range map[string]struct {
		known    []store.Secret
		add      store.Secret
		admitted bool
		err      error
	}{
		"the first":                  {nil, first, true, nil},
		"the first, with an instant": {nil, second, true, nil},
		"a number that is known":     {[]store.Secret{first}, store.Secret{Version: 1, Check: check(9)}, false, nil},
		"in time":                    {[]store.Secret{first}, second, true, nil},
		"just in time":               {[]store.Secret{first}, store.Secret{Version: 2, Check: check(2), PrimaryFrom: now.Add(ahead)}, true, nil},
		"too late":                   {[]store.Secret{first}, store.Secret{Version: 2, Check: check(2), PrimaryFrom: now.Add(ahead) - 1}, false, store.ErrSecretTooLate},
		"without an instant":         {[]store.Secret{first}, store.Secret{Version: 2, Check: check(2)}, false, store.ErrSecretTooLate},
		"together with another":      {[]store.Secret{first, second}, store.Secret{Version: 3, Check: check(3), PrimaryFrom: second.PrimaryFrom}, false, store.ErrSecretTooLate},
		"after another":              {[]store.Secret{first, second}, store.Secret{Version: 3, Check: check(3), PrimaryFrom: second.PrimaryFrom + 1}, true, nil},
		"a move":                     {[]store.Secret{first}, moved(now.Add(ahead)), true, nil},
		"a move after a version":     {[]store.Secret{first, second}, moved(second.PrimaryFrom.Add(ahead)), true, nil},
		"a move too soon after it":   {[]store.Secret{first, second}, moved(second.PrimaryFrom.Add(ahead) - 1), false, store.ErrSecretTooLate},
		"when a move is announced":   {[]store.Secret{first, moved(now.Add(2 * time.Hour))}, second, false, store.ErrSecretTooLate},
		"the same bytes":             {[]store.Secret{first}, store.Secret{Version: 2, Check: check(1), PrimaryFrom: now.Add(time.Hour)}, false, errAny},
	} {
		admitted, err := store.AdmitSecret(tc.known, tc.add, now, ahead)
		wrong := !errors.Is(tc.err, errAny) && !errors.Is(err, tc.err)
		if admitted != tc.admitted || wrong || (err == nil) != (tc.err == nil) {
			t.Errorf("%s: %v, %v", name, admitted, err)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	const now = machine.Instant(1_000_000_000)
	record := &machine.Record{
		Scope: machine.Scope{Operation: "POST /orders", SecretVersion: 2}, State: machine.Executing, LeaseEnd: now,
	}
	for name, tc := range map[string]struct {
		filter store.Filter
		at     machine.Instant
		want   bool
	}{
		"no restriction":         {store.Filter{}, now, true},
		"executing":              {store.Filter{States: []machine.State{machine.Executing}}, now - 1, true},
		"interrupted":            {store.Filter{States: []machine.State{machine.Executing}}, now, false},
		"found as abandoned":     {store.Filter{States: []machine.State{machine.Claimed, machine.Abandoned}}, now, true},
		"operation":              {store.Filter{Operation: "POST /orders"}, now, true},
		"operation in lower":     {store.Filter{Operation: "post /orders"}, now, false},
		"secret version":         {store.Filter{SecretVersion: 2}, now, true},
		"another secret version": {store.Filter{SecretVersion: 1}, now, false},
		"lease ended before":     {store.Filter{LeaseEndedBefore: now + 1}, now, true},
		"lease ended later":      {store.Filter{LeaseEndedBefore: now}, now, false},
	} {
		if got := tc.filter.Match(record, tc.at); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	forgotten := *record
	forgotten.State, forgotten.RememberUntil = machine.Completed, now
	if (store.Filter{}).Match(&forgotten, now) || !(store.Filter{}).Match(&forgotten, now-1) {
		t.Error("a record that is forgotten fits nothing, and one that is remembered does")
	}
}

// A caller that needs more than Apply looks for it, and says so when it is missing.
func ExampleAs() {
	counter, ok := store.As[store.Counter](wrapped{counting{}})
	counts, err := counter.Count(context.Background())
	fmt.Println(ok, counts.Due, err)
	_, ok = store.As[store.Lister](wrapped{counting{}})
	fmt.Println(ok)
	// Output:
	// true 7 <nil>
	// false
}
