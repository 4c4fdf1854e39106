package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/reprisetest"
)

// several is an error of a caller's own that is made of others.
type several []error

func (s several) Error() string   { return fmt.Sprint([]error(s)) }
func (s several) Unwrap() []error { return s }

// An order that charges and then writes a mail: that the mail was not sent says nothing about the charge. An error that is made of
// several says that there was no effect when each of them does.
func TestNoEffectOfAPart(t *testing.T) {
	t.Parallel()
	charge, mail := errors.New("charging: connection reset"), reprise.NoEffect(errors.New("mail: refused"))
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"alone":                       {mail, reprise.ErrNoEffect},
		"wrapped":                     {fmt.Errorf("order: %w", mail), reprise.ErrNoEffect},
		"wrapped twice":               {fmt.Errorf("order: %w", fmt.Errorf("end: %w", mail)), reprise.ErrNoEffect},
		"joined alone":                {errors.Join(nil, mail), reprise.ErrNoEffect},
		"joined, both":                {errors.Join(reprise.NoEffect(charge), mail), reprise.ErrNoEffect},
		"joined in joined, all":       {errors.Join(mail, fmt.Errorf("more: %w", errors.Join(mail, mail))), reprise.ErrNoEffect},
		"of the whole":                {reprise.NoEffect(errors.Join(charge, mail)), reprise.ErrNoEffect},
		"joined, the first":           {errors.Join(mail, charge), reprise.ErrUnknown},
		"joined, the last":            {errors.Join(charge, mail), reprise.ErrUnknown},
		"joined, then wrapped":        {fmt.Errorf("order: %w", errors.Join(mail, charge)), reprise.ErrUnknown},
		"joined in joined, one":       {errors.Join(mail, errors.Join(mail, charge)), reprise.ErrUnknown},
		"two of %w":                   {fmt.Errorf("%w, after %w", mail, charge), reprise.ErrUnknown},
		"two of %w, both":             {fmt.Errorf("%w, after %w", mail, reprise.NoEffect(charge)), reprise.ErrNoEffect},
		"a type of one's own":         {several{mail, charge}, reprise.ErrUnknown},
		"a type of one's own, a nil":  {several{mail, nil}, reprise.ErrUnknown},
		"a type of one's own, empty":  {several{}, reprise.ErrUnknown},
		"a type of one's own, of all": {several{mail, mail}, reprise.ErrNoEffect},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bench := reprisetest.New(t, reprise.Policy{})
			outcome, err := bench.Guard.Do(t.Context(), order("k"), func(context.Context, *reprise.Run) (reprise.Response, error) {
				return reprise.Response{}, c.err
			})
			var said *reprise.Error
			if !errors.As(err, &said) || said.Kind != c.kind {
				t.Errorf("%v, want %v", err, c.kind)
			}
			state := machine.Abandoned
			if c.kind == reprise.ErrNoEffect {
				state = machine.Retryable
			}
			if record := bench.Record(t, outcome.Digest); record.State != state {
				t.Errorf("the record is %v (%s), want %v", record.State, record.Reason, state)
			}
		})
	}
}
