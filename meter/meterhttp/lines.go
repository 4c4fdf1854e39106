package meterhttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

func (s *Service) getLine(w http.ResponseWriter, r *http.Request) {
	id, ok := idParameter(w, r)
	if !ok {
		return
	}
	month, ok := monthParameter(w, r)
	if !ok {
		return
	}
	status, err := s.Inspector.Line(r.Context(), s.Now(), id, month)
	if err != nil {
		s.failWith(w, r, err, ProblemLineRefused)
		return
	}
	answer(w, http.StatusOK, status)
}

func (s *Service) getFamily(w http.ResponseWriter, r *http.Request) {
	id, ok := idParameter(w, r)
	if !ok {
		return
	}
	month, ok := monthParameter(w, r)
	if !ok {
		return
	}
	status, err := s.Inspector.Family(r.Context(), s.Now(), id, month)
	if err != nil {
		s.failWith(w, r, err, ProblemLineRefused)
		return
	}
	answer(w, http.StatusOK, status)
}

// Line is a line with its plan.
type Line struct {
	ID         string `json:"line_id"`
	Family     string `json:"family_id"`
	Individual int64  `json:"individual"`
	QoS        int64  `json:"qos"`
	// Open says that the line can be used. Otherwise a process that serves opens it as soon as the gate is open.
	Open bool `json:"open"`
}

// putLine makes a line, changes its plan, or moves it. A plan counts from the next month that is opened.
func (s *Service) putLine(w http.ResponseWriter, r *http.Request) {
	id, ok := idParameter(w, r)
	if !ok {
		return
	}
	wanted := meterledger.Line{ID: id}
	seen, ok := s.readObject(w, r, map[string]any{"family_id": &wanted.Family, "individual": &wanted.Individual, "qos": &wanted.QoS})
	if !ok {
		return
	}
	if !seen["individual"] || !seen["qos"] {
		fail(w, refused(ProblemRequestMalformed, &meter.Refusal{Reason: meter.MissingField, Detail: "Send the plan: individual and qos, in bytes a month."}))
		return
	}
	known, err := s.Ledger.Lines(r.Context(), []string{id})
	if err != nil {
		s.failWith(w, r, err, ProblemLineRefused)
		return
	}
	before, there := known[id]
	if there && !seen["family_id"] {
		wanted.Family = before.Family
	}
	to := wanted.Family
	if there { // its family changes by a move
		if err := s.Mover.Possible(r.Context(), to); err != nil {
			s.failLine(w, r, err)
			return
		}
		wanted.Family = before.Family
	}
	if err := s.Ledger.Import(r.Context(), nil, []meterledger.Line{wanted}, nil); err != nil {
		s.failLine(w, r, err)
		return
	}
	s.Directory.Forget(id)
	status := http.StatusCreated
	if there {
		status = http.StatusOK
		// Who says nothing of a family changes a plan, which is SQL's alone. A family that the line is in already may end a move that
		// was given up.
		if seen["family_id"] && !s.move(w, r, id, to) {
			return
		}
	}
	answer(w, status, Line{id, to, wanted.Individual, wanted.QoS, s.open(r.Context(), id)})
}

func (s *Service) failLine(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, meterledger.ErrUnknown) || errors.Is(err, meterledger.ErrConflict) {
		fail(w, refused(ProblemLineRefused, &meter.Refusal{Reason: meter.OtherFamily, Field: "family_id", Detail: err.Error()}))
		return
	}
	s.failWith(w, r, err, ProblemLineRefused)
}

// move moves a line, or answers why it has not moved.
func (s *Service) move(w http.ResponseWriter, r *http.Request, id, to string) bool {
	ctx, cancel := context.WithTimeout(r.Context(), s.MaxWait)
	defer cancel()
	err := s.Mover.Move(ctx, id, to)
	switch {
	case err == nil:
		return true
	case errors.Is(err, meterledger.ErrUnknown), errors.Is(err, meterledger.ErrConflict):
		s.failLine(w, r, err)
	case errors.Is(err, meterledger.ErrNotDrained), errors.Is(err, meterredis.ErrUnitClosed), errors.Is(err, meterredis.ErrMovedOn), errors.Is(err, meterledger.ErrOldGeneration), ctx.Err() != nil: // however a store says that time was up
		fail(w, problem(ProblemMoveUnfinished, err.Error()+": send the same request again."))
	default:
		s.failWith(w, r, err, ProblemLineRefused)
	}
	return false
}

// open makes the monthly grants of a line, so that it can be used at once. What fails is done by the keeper.
func (s *Service) open(ctx context.Context, id string) bool {
	open := true
	for _, month := range s.Keeper.Horizon.Months(s.Keeper.Calendar, s.Now()) {
		grant, err := s.Ledger.OpenMonthOf(ctx, id, month)
		if err == nil {
			_, err = s.Keeper.Bring(ctx, grant)
		}
		if err != nil && !errors.Is(err, meter.GrantedTwice) {
			s.Log.InfoContext(ctx, "meter: a line is opened later", "line", id, "month", month, "why", err)
			open = false
		}
	}
	return open
}
