package admin

import (
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Record is what an operator sees of a record. Its JSON names are part of what users rely on. Times
// are the store's; those that are not set are left out.
type Record struct {
	Digest        string `json:"digest"`
	Operation     string `json:"operation"`
	State         string `json:"state"` // as judged when it was read
	Reason        string `json:"reason,omitempty"`
	Attempt       uint32 `json:"attempt"`
	Revision      uint64 `json:"revision"`
	LastChange    string `json:"last_change"` // the kind of command that made this revision
	Interruption  string `json:"interruption"`
	SecretVersion uint32 `json:"secret_version"`
	Policy        uint32 `json:"policy"`

	Claimed       time.Time `json:"claimed,omitzero"`
	Started       time.Time `json:"started,omitzero"`
	Finished      time.Time `json:"finished,omitzero"`
	LeaseEnd      time.Time `json:"lease_end,omitzero"`
	WindowEnd     time.Time `json:"window_end,omitzero"`
	RememberUntil time.Time `json:"remember_until,omitzero"`

	Answer     *Answer     `json:"answer,omitempty"`
	Settlement *Settlement `json:"settlement,omitempty"`
}

// Answer describes a recorded answer without showing it.
type Answer struct {
	Codec   string `json:"codec"`
	Bytes   int    `json:"bytes"` // as stored
	Digest  string `json:"digest"`
	NotKept bool   `json:"not_kept,omitempty"`
	Sealed  string `json:"sealed,omitempty"` // name of the key
	// Evidence: it was seen, and is never replayed.
	Evidence bool `json:"evidence,omitempty"`
}

// Settlement says who decided an unknown outcome.
type Settlement struct {
	Who      string    `json:"who"`
	Why      string    `json:"why"`
	Evidence string    `json:"evidence,omitempty"`
	At       time.Time `json:"at"`
}

// recordOf describes a record as judged at an instant.
func recordOf(r *machine.Record, at machine.Instant) Record {
	state, reason := r.Judge(at)
	v := Record{
		Digest: r.Scope.Digest.String(), Operation: r.Scope.Operation, State: state.String(), Reason: reason,
		Attempt: r.Attempt, Revision: r.Revision, LastChange: r.Last.Kind.String(),
		Interruption: r.Interruption.String(), SecretVersion: r.Scope.SecretVersion, Policy: r.Policy,
		Claimed: timeOf(r.Claimed), Started: timeOf(r.Started), Finished: timeOf(r.Finished),
		LeaseEnd: timeOf(r.LeaseEnd), WindowEnd: timeOf(r.WindowEnd), RememberUntil: timeOf(r.ForgottenAt()),
	}
	if a := r.Response; !a.IsZero() {
		v.Answer = &Answer{Codec: a.Codec, Bytes: len(a.Data), Digest: a.Digest.String(), NotKept: a.NotKept,
			Sealed: a.Sealed, Evidence: r.State != machine.Completed}
	}
	if s := r.Settlement; s.Who != "" {
		v.Settlement = &Settlement{Who: s.Who, Why: s.Why, Evidence: s.Evidence, At: s.At.Time()}
	}
	return v
}

func timeOf(i machine.Instant) time.Time {
	if i.IsZero() {
		return time.Time{}
	}
	return i.Time()
}
