package store_test

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/store"
)

// A doubt stays one, whatever a later try says of itself.
func TestClassifyKeepsDoubt(t *testing.T) {
	t.Parallel()
	cause := errors.New("cut")
	for err, want := range map[error]error{
		store.Indeterminate(store.Unavailable(cause)): store.ErrIndeterminate,
		store.Unavailable(cause):                      store.ErrUnavailable,
		store.Indeterminate(cause):                    store.ErrIndeterminate,
		store.ErrLost:                                 store.ErrLost,
		cause:                                         store.ErrIndeterminate,
		errors.Join(store.Unavailable(cause), store.ErrIndeterminate): store.ErrIndeterminate,
	} {
		if got := store.Classify(err); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}
