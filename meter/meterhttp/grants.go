package meterhttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// HeaderKey carries the key of a grant.
const HeaderKey = "Idempotency-Key"

// Grant is a top-up as it was made.
type Grant struct {
	ID         string      `json:"grant_id"`
	Line       string      `json:"line_id"`
	Month      meter.Month `json:"month"`
	Individual int64       `json:"individual"`
	QoS        int64       `json:"qos"`
	// Applied says that it can be used. Otherwise it is in SQL, Why says what it waits for, and a process that serves applies it then.
	Applied    bool             `json:"applied"`
	Generation meter.Generation `json:"generation,omitempty"`
	Version    int64            `json:"version,omitempty"`
	Why        *inspect.Cause   `json:"why,omitempty"`
}

// postGrant tops up a line. The key is the grant's identity: its row comes first, under an id that follows from the key, then the
// effect in Redis, whose operation is that id, then the confirmation. So whichever of them a retry finds done is not done again.
func (s *Service) postGrant(w http.ResponseWriter, r *http.Request) {
	line, ok := idParameter(w, r)
	if !ok {
		return
	}
	key, ok := grantKey(w, r)
	if !ok {
		return
	}
	g := meter.Grant{ID: grantID(line, key), Kind: meter.TopUp, Line: line}
	seen, ok := s.readObject(w, r, map[string]any{"month": &g.Month, "individual": &g.Individual, "qos": &g.QoS})
	if !ok {
		return
	}
	if !seen["month"] {
		fail(w, refused(ProblemRequestMalformed, &meter.Refusal{Reason: meter.MissingField, Field: "month", Detail: "Say which month is topped up: yyyyMM, as a number."}))
		return
	}
	if err := s.notOver(r.Context(), g); err != nil {
		s.failWith(w, r, err, ProblemGrantRefused)
		return
	}
	already, err := s.Ledger.AddGrant(r.Context(), g)
	if errors.Is(err, meterledger.ErrConflict) {
		fail(w, httpguard.Problem{Type: httpguard.ProblemKeyReused, Detail: "This key made another grant to the line: choose a new one."})
		return
	}
	if err != nil {
		s.failWith(w, r, err, ProblemGrantRefused)
		return
	}
	made := Grant{ID: g.ID, Line: line, Month: g.Month, Individual: g.Individual, QoS: g.QoS}
	status := http.StatusCreated
	if already {
		status = http.StatusOK
		w.Header().Set(httpguard.HeaderReplayed, "true")
	}
	row, err := s.Keeper.Bring(r.Context(), g.ID)
	if err != nil {
		status = http.StatusAccepted
		made.Why = whyLate(err)
	} else {
		made.Applied, made.Generation, made.Version = true, row.Generation, row.Version
	}
	answer(w, status, made)
}

// notOver refuses a grant of a month of which no event is accepted any more: nobody could use it. One that was made in time is told again.
func (s *Service) notOver(ctx context.Context, g meter.Grant) error {
	first := s.Keeper.Horizon.Due(s.Keeper.Calendar, s.Now()).First
	if g.Month >= first || !g.Month.Valid() {
		return nil
	}
	_, err := s.Ledger.Grant(ctx, g.ID)
	if errors.Is(err, meterledger.ErrUnknown) {
		return &meter.Refusal{Reason: meter.BadGrant, Field: "month", Detail: fmt.Sprintf("%v is over, and no event of it is accepted any more: top up %v or a later month", g.Month, first)}
	}
	return err
}

// whyLate says why a grant that is in SQL is not in Redis.
func whyLate(err error) *inspect.Cause {
	if refusal, ok := errors.AsType[*meter.Refusal](err); ok {
		return &inspect.Cause{Reason: refusal.Reason, Detail: refusal.Detail}
	}
	return &inspect.Cause{Reason: inspect.StoreUnavailable, Detail: problemOf(err, ProblemGrantRefused).Detail}
}

// grantKey reads the key, or answers what is wrong with it.
func grantKey(w http.ResponseWriter, r *http.Request) (string, bool) {
	lines := r.Header.Values(HeaderKey)
	if len(lines) == 0 {
		fail(w, httpguard.Problem{Type: httpguard.ProblemKeyMissing, Detail: fmt.Sprintf("Send a key of your own in %s: the same for every retry of this grant.", HeaderKey)})
		return "", false
	}
	key, err := httpguard.ParseKey(lines)
	if err != nil {
		fail(w, httpguard.Problem{Type: httpguard.ProblemKeyMalformed, Detail: err.Error()})
		return "", false
	}
	return key, true
}

// grantID follows from the line and the key. No line has a newline.
func grantID(line, key string) string {
	sum := sha256.Sum256([]byte("reprise meter grant\n" + line + "\n" + key))
	return "key:" + hex.EncodeToString(sum[:16])
}
