package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/internal/database"
)

// SchemaStatus says which schema a database has.
type SchemaStatus = database.SchemaStatus

// Migrate brings the tables of restores in the database that a DSN names up to date, under a lock.
func Migrate(ctx context.Context, dsn string) (SchemaStatus, error) {
	return database.Migrate(ctx, dsn, new(statements).kit())
}

// Print returns a script that does what [Migrate] does to a database without tables of restores, for those who run such things
// themselves, and connects to nothing. It ends with the rights of a role, or on MySQL of a user; without one they stand as a comment.
func Print(dsn, role string) (string, error) { return database.Print(dsn, new(statements).kit(), role) }

// Status reads the version of the schema and changes nothing.
func Status(ctx context.Context, dsn string) (SchemaStatus, error) {
	return database.Status(ctx, dsn, new(statements).kit())
}

// Sessions keeps restores in a database. Its methods may be called by any number of goroutines and processes at once. Its
// server's clock decides about leases. Make one with [Open].
type Sessions struct {
	db  *database.DB
	sql *statements
}

// Open opens the sessions in the database that a DSN names, one of
//
//	postgres://user:password@host:5432/database?schema=reprise
//	mysql://user:password@host:3306/database?tls=true
//
// with at most so many connections; 0 is 16. A schema that does not fit is refused with [store.ErrSchema]. The caller
// closes it.
func Open(ctx context.Context, dsn string, maxConns int) (*Sessions, error) {
	s := &Sessions{sql: &statements{}}
	db, err := database.Open(ctx, dsn, s.sql.kit(), database.Options{MaxConns: maxConns})
	if err != nil {
		return nil, err
	}
	s.db = db
	return s, nil
}

// Close closes the connections. Operations under way fail.
func (s *Sessions) Close() error { return s.db.Close() }

// Session is one restore of one plan.
type Session struct {
	ID   int64  `json:"id"`
	Plan string `json:"plan"`
	// Digest and Configuration are those of the plan that began it, and Program is what the process was that did.
	Digest        string `json:"digest"`
	Configuration string `json:"configuration"`
	Program       string `json:"program"`
	Who           string `json:"who"`
	Why           string `json:"why"`
	// FailedAt is when what is restored was lost, and FinishedAt is zero while the session is live.
	FailedAt   time.Time `json:"failed_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
	State      State     `json:"state"`
	// Phase is the one that is being done while the state is Applying, and Phases how many there are.
	Phase  int `json:"phase"`
	Phases int `json:"phases"`
	// Round is that of verification, from 1. It only grows: what is verified in another life of the data is verified in rounds of its own.
	Round int `json:"round"`
	// Generation is the life of the data that the session makes, and Losses how often it had to begin another one.
	Generation string `json:"generation"`
	Losses     int    `json:"losses"`
	Paused     bool   `json:"paused"`
	// Reason is why it is paused or cancelled, and Trouble what the current step waits for.
	Reason  string `json:"reason"`
	Trouble string `json:"trouble"`
	// Epoch is the current one, and Fenced the one that the target system is known to have.
	Epoch  int64 `json:"epoch"`
	Fenced int64 `json:"fenced"`
	// Owner is the process that manages it, or did last; Led says that its lease is live.
	Owner       string    `json:"owner"`
	Led         bool      `json:"led"`
	HeartbeatAt time.Time `json:"heartbeat_at,omitzero"`
	// Rate is how many units a second each worker does at most; 0 is no limit. Batch is how many targets it takes at once.
	Rate  int64 `json:"rate"`
	Batch int   `json:"batch"`
	// Now is the server's time when this was read.
	Now time.Time `json:"now,omitzero"`
}

func (s Session) fence() Fence { return Fence{s.ID, s.Epoch, s.Generation} }

// verification is the number of its phase.
func (s Session) verification() int { return s.Phases }

// step is the phase that targets are of in the session's state.
func (s Session) step() int {
	if s.State == Applying {
		return s.Phase
	}
	return s.verification()
}

// read reads a session; found is false if there is none.
func (s *Sessions) read(tx *database.Tx, q database.Statement, key any) (v Session, found bool, err error) {
	var failed, started, finished, beat, now int64
	err = tx.Each(q, []any{key}, []any{
		&v.ID, &v.Plan, &v.Digest, &v.Configuration, &v.Program, &v.Who, &v.Why, &failed, &started, &finished, &v.State, &v.Phase, &v.Phases,
		&v.Round, &v.Generation, &v.Losses, &v.Paused, &v.Reason, &v.Trouble, &v.Epoch, &v.Fenced, &v.Owner, &v.Led, &beat, &v.Rate, &v.Batch, &now,
	}, func() error {
		found = true
		return nil
	})
	v.FailedAt, v.StartedAt, v.FinishedAt = database.Instant(failed), database.Instant(started), database.Instant(finished)
	v.HeartbeatAt, v.Now = database.Instant(beat), database.Instant(now)
	return v, found, err
}

// Session returns a session.
func (s *Sessions) Session(ctx context.Context, id int64) (v Session, err error) {
	return s.one(ctx, s.sql.session, id, fmt.Sprintf("with the number %d", id))
}

// Last returns the last session of a plan, live or over. [ErrNone] if there was none.
func (s *Sessions) Last(ctx context.Context, plan string) (Session, error) {
	return s.one(ctx, s.sql.lastSession, plan, fmt.Sprintf("of plan %q", plan))
}

func (s *Sessions) one(ctx context.Context, q database.Statement, key any, which string) (v Session, err error) {
	err = s.db.Look(ctx, func(tx *database.Tx) error {
		var found bool
		if v, found, err = s.read(tx, q, key); err == nil && !found {
			return fmt.Errorf("%w %s: begin one", ErrNone, which)
		}
		return err
	})
	return v, err
}

// only makes nothing of a change that found nothing to change.
func only(n int64, err error, otherwise error) error {
	if err == nil && n == 0 {
		return otherwise
	}
	return err
}
