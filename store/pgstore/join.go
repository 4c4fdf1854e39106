package pgstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
)

// Join is [Effects.Join] of the zero value.
func Join(ctx context.Context, tx pgx.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.Join(ctx, tx, invocation, action)
}

// JoinSQL is [Effects.JoinSQL] of the zero value.
func JoinSQL(ctx context.Context, tx *sql.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.JoinSQL(ctx, tx, invocation, action)
}

// Join does what [Effects.Do] does, in a transaction that its caller has begun and will end. The effect
// holds once that is committed; the key is held until then. After an error the caller rolls back, unless
// it is a [*store.Refusal]: then nothing was written, and the transaction can go on. It holds the key all the same, so one that goes
// on ends soon: whoever has the key cannot renew its lease meanwhile. An action that ends the
// transaction all the same is [store.ErrIndeterminate]: what it did may be committed, and its key is as it was.
//
// Above READ COMMITTED a transaction does not see what was committed since it began. Where another has
// used the key since, the error is [store.ErrSerialization], perhaps only after the action has run: all of
// the transaction is to be rolled back and run again. An answer that it does see holds, and is given.
// A transaction in which a statement has failed, before or in the action, and whose error somebody has let pass, is [store.ErrUnavailable]:
// it can only be rolled back, and would perhaps fail in the same way again.
//
// Whether a commit whose reply was lost has happened is for the caller to find out: by calling again, which
// is answered with the answer if there is one.
func (e Effects) Join(ctx context.Context, tx pgx.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	return e.join(ctx, joinedPgx{tx}, invocation, action)
}

// JoinSQL is Join for a transaction of database/sql, with any driver of PostgreSQL.
func (e Effects) JoinSQL(ctx context.Context, tx *sql.Tx, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	return e.join(ctx, joinedSQL{tx}, invocation, action)
}

// joined is somebody else's transaction.
type joined interface {
	// queryRow reads the one row that a statement returns. Without a row the error is errNoRow.
	queryRow(ctx context.Context, sql string, args []any, to ...any) error
	exec(ctx context.Context, sql string, args ...any) error
}

type joinedPgx struct{ tx pgx.Tx }

func (j joinedPgx) queryRow(ctx context.Context, sql string, args []any, to ...any) error {
	err := j.tx.QueryRow(ctx, sql, args...).Scan(to...)
	if errors.Is(err, pgx.ErrNoRows) {
		return errNoRow
	}
	return err
}

func (j joinedPgx) exec(ctx context.Context, sql string, args ...any) error {
	_, err := j.tx.Exec(ctx, sql, args...)
	return err
}

type joinedSQL struct{ tx *sql.Tx }

func (j joinedSQL) queryRow(ctx context.Context, query string, args []any, to ...any) error {
	err := j.tx.QueryRowContext(ctx, query, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return errNoRow
	}
	return err
}

func (j joinedSQL) exec(ctx context.Context, query string, args ...any) error {
	_, err := j.tx.ExecContext(ctx, query, args...)
	return err
}

func (e Effects) join(ctx context.Context, tx joined, invocation *store.Invocation, action func(ctx context.Context) (machine.Response, error)) (store.Effect, error) {
	s, err := e.statements()
	if err != nil {
		return store.Effect{}, err
	}
	j := joining{effectStatements: s, tx: tx, invocation: invocation}
	if err := j.hold(ctx, e.Wait); err != nil {
		if errors.Is(err, errBusy) {
			return invocation.Answered(0, machine.Reply{Outcome: machine.InProgress})
		}
		return store.Effect{}, conflict(err)
	}
	candidate, begun, reply, granted := invocation.Decide(records(j.held), j.held[len(j.held)-1].at)
	if !granted {
		begun = nil // it is what was found
	}
	if err := j.stand(ctx, candidate, begun, reply); err != nil {
		return store.Effect{}, conflict(err)
	}
	if !granted {
		return invocation.Answered(candidate, reply)
	}
	response, err := action(ctx)
	if err != nil {
		return store.Effect{}, j.ended(ctx, err, j.withdraw(ctx, candidate, err))
	}
	end, err := s.ending(invocation, candidate, begun, response)
	if err != nil {
		return store.Effect{}, j.ended(ctx, err, j.withdraw(ctx, candidate, err))
	}
	at, err := j.end(ctx, candidate, end)
	if err != nil {
		return store.Effect{}, j.ended(ctx, err, conflict(err))
	}
	_, reply = invocation.Finish(candidate, begun, response, at)
	return store.Effect{Response: response, Scope: invocation.Candidates[candidate].Scope, Reply: reply}, nil
}

// joining is an effect in somebody else's transaction.
type joining struct {
	effectStatements
	tx         joined
	invocation *store.Invocation
	held       []*held
	began      time.Time
	claimed    bool // a row was written that stands for the claim: see stand
}

// hold takes the locks of the candidates, waiting for a bounded time, and loads their records.
func (j *joining) hold(ctx context.Context, patience time.Duration) error {
	if len(j.invocation.Candidates) == 0 {
		return errNoCandidate
	}
	wait, until := gather.NewBackoff(), time.Now().Add(patience)
	for _, c := range j.invocation.Candidates {
		digest := c.Scope.Digest
		h := &held{digest: digest}
		for {
			if err := j.take(ctx, h); err != nil {
				return err
			}
			if h.locked {
				break
			}
			if !time.Now().Before(until) || !wait.Sleep(ctx) {
				return errBusy
			}
		}
		if err := j.look(ctx, h); err != nil {
			return err
		}
		j.held = append(j.held, h)
	}
	return nil
}

// take takes the lock if it is free.
func (j *joining) take(ctx context.Context, h *held) error {
	var at *time.Time
	lock := lockOf(h.digest)
	err := j.tx.queryRow(ctx, j.lock, []any{lock, int32(lock >> 32), int32(lock)}, &at, &h.isolation, &j.began)
	if h.locked = err == nil && at != nil; h.locked {
		h.at = machine.InstantOf(*at)
	}
	return err
}

// look loads the record.
func (j *joining) look(ctx context.Context, h *held) error {
	var awaited bool
	var claimedAt int64
	var forgetAt sql.NullInt64
	var found form.Row
	err := j.tx.queryRow(ctx, j.load, halves(h.digest), &awaited, &found.Answered, &claimedAt, &forgetAt, &found.Record, &found.Answer)
	if errors.Is(err, errNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	found.ClaimedAt, found.ForgetAt = machine.Instant(claimedAt), machine.Instant(forgetAt.Int64)
	return h.found(&found, awaited)
}

// halves are those of a digest as every driver takes them.
func halves(d machine.Digest, more ...any) []any {
	return append([]any{uuid(d[:16]), uuid(d[16:])}, more...)
}

func uuid(b []byte) string {
	s := hex.EncodeToString(b)
	return fmt.Sprintf("%s-%s-%s-%s-%s", s[:8], s[8:12], s[12:16], s[16:20], s[20:])
}

// end writes the record of the answer.
func (j *joining) end(ctx context.Context, candidate int, end ending) (machine.Instant, error) {
	h := j.held[candidate]
	if j.claimed {
		if err := j.tx.exec(ctx, j.deleteOpen, halves(end.digest, j.began)...); err != nil {
			return 0, err
		}
	}
	if h.stands {
		if err := j.tx.exec(ctx, j.remove(h), halves(end.digest, j.began)...); err != nil {
			return 0, err
		}
	}
	var forgetAt int64
	args := halves(end.digest, int64(end.packed.ClaimedAt), end.remember, end.packed.Record, end.packed.Answer, j.began)
	if err := j.tx.queryRow(ctx, j.join, args, &forgetAt); err != nil {
		return 0, err
	}
	if h.awaited {
		if err := j.tx.exec(ctx, j.notify, j.channel, end.digest.String()); err != nil {
			return 0, err
		}
	}
	return machine.Instant(forgetAt - end.remember), nil
}

// ended returns what an error after the action is told as: if the action has ended the transaction, what it did may be committed, and
// whoever reads that it was not would run it again.
func (j *joining) ended(ctx context.Context, err, otherwise error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	same := true
	asked := j.tx.queryRow(ctx, sameTransactionSQL, []any{j.began}, &same)
	if same && !errors.Is(asked, pgx.ErrTxClosed) && !errors.Is(asked, sql.ErrTxDone) {
		return otherwise
	}
	return store.Indeterminate(errors.Join(errEnded, err))
}

// conflict translates an error inside of somebody else's transaction, which can only be rolled back.
func conflict(err error) error {
	switch {
	case errors.Is(err, store.ErrCorrupt):
		return err
	case errors.Is(err, errNoRow) || serialization[sqlState(err)]:
		return fmt.Errorf("%w: %w", store.ErrSerialization, explain(err))
	}
	return store.Unavailable(explain(err))
}
