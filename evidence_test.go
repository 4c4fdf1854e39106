package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
)

func TestUnknownKeepsEvidenceAndNoSecrets(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{})
	call := order("key-4711")
	outcome, err := bench.Guard.Do(t.Context(), call, func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{Data: []byte("502")}, fmt.Errorf("charging %s for %s: %w", call.Key, call.Principal, errAction)
	})
	if !errors.Is(err, reprise.ErrUnknown) || !errors.Is(err, errAction) || !outcome.Ran {
		t.Fatalf("%+v, %v", outcome, err)
	}
	record := bench.Record(t, outcome.Digest)
	if record.State != machine.Abandoned || string(record.Response.Data) != "502" {
		t.Errorf("record: %+v", record)
	}
	if want := "error: charging [key] for [principal]: " + errAction.Error(); record.Reason != want {
		t.Errorf("reason %q, want %q", record.Reason, want)
	}
}

// A principal that has the key in it is taken out whole.
func TestNothingOfAPrincipalIsLeft(t *testing.T) {
	t.Parallel()
	bench, call := reprisetest.New(t, reprise.Policy{}), order("com")
	call.Principal = "bob@example.com"
	outcome, _ := bench.Guard.Do(t.Context(), call, func(context.Context, *reprise.Run) (reprise.Response, error) {
		return reprise.Response{}, errors.New("refused for bob@example.com, of com")
	})
	if record := bench.Record(t, outcome.Digest); record.Reason != "error: refused for [principal], of [key]" {
		t.Errorf("%q", record.Reason)
	}
}

// unreadable is an error whose nil pointer is not nil, and cannot be asked for its text.
type unreadable struct{ text string }

func (u *unreadable) Error() string { return u.text }

// What an action that returns an error without a text came to is recorded all the same.
func TestAnErrorWithoutATextIsUnknown(t *testing.T) {
	t.Parallel()
	bench := reprisetest.New(t, reprise.Policy{})
	outcome, err := bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
		var none *unreadable
		return reprise.Response{}, none
	})
	if !errors.Is(err, reprise.ErrUnknown) || !strings.Contains(err.Error(), "unreadable") {
		t.Fatalf("%v", err)
	}
	if record := bench.Record(t, outcome.Digest); record.State != machine.Abandoned {
		t.Errorf("%+v", record)
	}
}
