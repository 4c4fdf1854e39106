package meterhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// What an error says is kept: what is certain, what is not, and what passes.
func TestProblems(t *testing.T) {
	t.Parallel()
	for problem, err := range map[string]error{
		ProblemGateClosed:    &meter.Refusal{Reason: meter.GateClosed},
		ProblemEventRefused:  &meter.Refusal{Reason: meter.BadBytes},
		ProblemIntakeFull:    meterredis.ErrFull,
		ProblemNotFound:      meterledger.ErrUnknown,
		ProblemHeldByRestore: meterledger.ErrHeld,
		ProblemNotConfirmed:  store.Indeterminate(errors.New("time-out")),
		"store-unavailable":  store.Unavailable(errors.New("refused")),
		"store-lost":         store.ErrLost,
	} {
		p := problemOf(fmt.Errorf("of a request: %w", err), ProblemEventRefused)
		if p.Type != problem || p.Status == 0 || p.Title == "" {
			t.Errorf("%v: %+v", err, p)
		}
		w := httptest.NewRecorder()
		fail(w, p)
		if said := w.Header().Get(httpguard.HeaderNoEffect); said != "true" {
			t.Errorf("%s: a guard in front is told %q, and would not let it be sent again", problem, said)
		}
	}
}

// Where the databases do not matter, the answer comes before those who ask give up, which is after a second by default.
func TestMinding(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]int{"": 200, "?store=required": 503} {
		status, within := minding(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz"+query, nil))
		if status != want || want == 200 && within >= time.Second {
			t.Errorf("%q: %d, after up to %v", query, status, within)
		}
	}
}
