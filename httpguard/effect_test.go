package httpguard_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Every error of an effect is a problem whose promise it keeps: only what certainly did nothing says so.
func TestEffectProblem(t *testing.T) {
	t.Parallel()
	refused := func(outcome machine.Outcome) error {
		return fmt.Errorf("order: %w", &store.Refusal{
			Scope: machine.Scope{Digest: machine.Digest{1}},
			Reply: machine.Reply{Outcome: outcome, At: 1_000_000, LeaseEnd: 6_000_000},
		})
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{refused(machine.FingerprintMismatch), httpguard.ProblemKeyReused},
		{refused(machine.InProgress), httpguard.ProblemInProgress},
		{refused(machine.Gone), httpguard.ProblemAnswerExpired},
		{refused(machine.ReplayIncompatible), httpguard.ProblemAnswerIncompatible},
		{refused(machine.RecoveryRequired), httpguard.ProblemOutcomeUnknown},
		{store.Indeterminate(errors.New("cut")), httpguard.ProblemOutcomeUnknown},
		{store.Unavailable(errors.New("away")), httpguard.ProblemStoreUnavailable},
		{store.Corrupt(machine.Digest{1}, errors.New("bits")), httpguard.ProblemRecordUnreadable},
		{fmt.Errorf("bucket 7: %w", store.ErrLost), httpguard.ProblemStoreLost},
		{&reprise.Error{Kind: reprise.ErrClosed}, httpguard.ProblemStoreUnavailable},
		{errors.New("the action's own"), httpguard.ProblemStoreUnavailable},
	} {
		p := httpguard.EffectProblem(tc.err)
		if p.Type != tc.want || p.Detail == "" {
			t.Errorf("%v: %+v, want %s", tc.err, p, tc.want)
		}
	}
	if p := httpguard.EffectProblem(refused(machine.InProgress)); p.RetryAfter != 5*time.Second {
		t.Errorf("in progress for five seconds: try again after %v", p.RetryAfter)
	}
}
