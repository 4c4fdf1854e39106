package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Effects say how actions commit together with their records. The zero value is right for a store in the
// default schema.
type Effects struct {
	// Schema is the store's; empty is [DefaultSchema].
	Schema string
	// Wait is how long an action waits for another transaction that holds its key, before it is refused
	// as in progress; 0 is not at all. No connection is held meanwhile.
	Wait time.Duration
}

// Do is [Effects.Do] of the zero value.
func Do(ctx context.Context, pool *pgxpool.Pool, invocation *store.Invocation, action func(ctx context.Context, tx pgx.Tx) (machine.Response, error)) (store.Effect, error) {
	return Effects{}.Do(ctx, pool, invocation, action)
}

// Do runs an action in a transaction that also claims its key and records its answer. Either all of that
// is committed, or nothing is: an action that returns an error, panics or dies with its process leaves the
// key as it was, and can be called again with an invocation prepared anew. If the key has an answer, that
// is returned, and the action is not run.
//
// The pool is one of the database that holds the store. The transaction is READ COMMITTED; the action uses
// it as it likes, but does not end it. A commit whose reply is lost is looked up, as long as ctx lives.
// Beside the action there are two round trips.
func (e Effects) Do(ctx context.Context, pool *pgxpool.Pool, invocation *store.Invocation, action func(ctx context.Context, tx pgx.Tx) (machine.Response, error)) (store.Effect, error) {
	s, err := e.statements()
	if err != nil {
		return store.Effect{}, err
	}
	t := &effect{effectStatements: s, pool: pool, invocation: invocation}
	for wait, until := newBackoff(), time.Now().Add(e.Wait); ; {
		result, err := t.run(ctx, action)
		if !errors.Is(err, errBusy) {
			return result, err
		}
		if !time.Now().Before(until) || !wait.sleep(ctx) {
			return invocation.Answered(0, machine.Reply{Outcome: machine.InProgress})
		}
	}
}

// effect is one call of Do.
type effect struct {
	effectStatements
	pool       *pgxpool.Pool
	invocation *store.Invocation
}

func (e *effect) run(ctx context.Context, action func(ctx context.Context, tx pgx.Tx) (machine.Response, error)) (store.Effect, error) {
	if err := store.NotSent(ctx); err != nil {
		return store.Effect{}, err
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return store.Effect{}, unsent(ctx, err)
	}
	// Should the transaction still be open then, the connection is given up, and it is rolled back.
	defer conn.Release()
	all, err := e.begin(ctx, conn.Conn())
	if err != nil {
		letGo(ctx, conn.Conn())
		return store.Effect{}, unsent(ctx, err)
	}
	candidate, begun, reply, granted := e.invocation.Decide(records(all), all[0].at)
	if !granted {
		letGo(ctx, conn.Conn())
		return e.invocation.Answered(candidate, reply)
	}
	response, err := action(ctx, &effectTx{conn: conn.Conn()})
	if err != nil {
		letGo(ctx, conn.Conn())
		return store.Effect{}, err
	}
	if conn.Conn().PgConn().TxStatus() == 'I' {
		return store.Effect{}, store.Indeterminate(errors.New("the action ended the transaction that its answer was to be recorded in"))
	}
	end, err := e.finish(candidate, begun, response)
	if err != nil {
		letGo(ctx, conn.Conn())
		return store.Effect{}, err
	}
	at, err := e.end(ctx, conn.Conn(), all[candidate], end)
	if err == nil {
		return e.result(candidate, begun, response, at)
	}
	if certain(err) {
		return store.Effect{}, store.Unavailable(explain(err))
	}
	conn.Release() // the look-up needs one too
	return e.settle(ctx, candidate, begun, response, err)
}

// begin begins the transaction, locks and loads the candidates and reads the time, in one round trip.
func (e *effect) begin(ctx context.Context, conn *pgx.Conn) ([]*held, error) {
	b := &pgx.Batch{}
	b.Queue(beginSQL)
	for _, c := range e.invocation.Candidates {
		b.Queue(e.lock, lockOf(c.Scope.Digest))
		b.Queue(e.load, head(c.Scope.Digest), tail(c.Scope.Digest))
	}
	results := conn.SendBatch(ctx, b)
	all, err := e.readAll(results)
	return all, errors.Join(err, results.Close())
}

func (e *effect) readAll(results pgx.BatchResults) (all []*held, err error) {
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	for _, c := range e.invocation.Candidates {
		h, err := readLocked(results, c.Scope.Digest)
		if err != nil {
			return nil, err
		}
		all = append(all, h)
	}
	if len(all) == 0 {
		return nil, errNoCandidate
	}
	return all, nil
}

var errNoCandidate = errors.New("the invocation names no key: prepare it with the guard")

func records(all []*held) []*machine.Record {
	records := make([]*machine.Record, len(all))
	for i, h := range all {
		records[i] = h.record
	}
	return records
}

// ending is the row that an answered action ends with. Its times are relative to the server's.
type ending struct {
	digest   machine.Digest
	packed   row
	remember int64
}

func (s effectStatements) ending(invocation *store.Invocation, candidate int, begun *machine.Record, response machine.Response) (ending, error) {
	next, reply := invocation.Finish(candidate, begun, response, begun.Claimed)
	if reply.Outcome != machine.CompletedNow {
		return ending{}, fmt.Errorf("the action's answer cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	return ending{invocation.Candidates[candidate].Scope.Digest, pack(next), int64(next.RememberUntil - next.Finished)}, nil
}

func (e *effect) finish(candidate int, begun *machine.Record, response machine.Response) (ending, error) {
	return e.ending(e.invocation, candidate, begun, response)
}

// end writes the record and commits, in one round trip. It returns the time at which it was decided.
func (e *effect) end(ctx context.Context, conn *pgx.Conn, h *held, end ending) (machine.Instant, error) {
	b := &pgx.Batch{}
	first, second := head(end.digest), tail(end.digest)
	if h.stands {
		b.Queue(e.remove(h), first, second)
	}
	b.Queue(e.insert, first, second, end.packed.claimedAt, end.remember, end.packed.record, end.packed.answer)
	if h.awaited {
		b.Queue(e.notify, e.channel, end.digest.String())
	}
	b.Queue("COMMIT")
	results := conn.SendBatch(ctx, b)
	var forgetAt int64
	err := func() error {
		if h.stands {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		if err := results.QueryRow().Scan(&forgetAt); err != nil {
			return err
		}
		if h.awaited {
			if _, err := results.Exec(); err != nil {
				return err
			}
		}
		_, err := results.Exec()
		return err
	}()
	return machine.Instant(forgetAt - end.remember), errors.Join(err, results.Close())
}

func (e *effect) result(candidate int, begun *machine.Record, response machine.Response, at machine.Instant) (store.Effect, error) {
	_, reply := e.invocation.Finish(candidate, begun, response, at)
	return store.Effect{Response: response, Scope: e.invocation.Candidates[candidate].Scope, Reply: reply}, nil
}

// settle looks up whether a commit whose reply was lost has happened. The transaction holds the key's
// lock until it has ended, so whoever gets the lock sees what came of it.
func (e *effect) settle(ctx context.Context, candidate int, begun *machine.Record, response machine.Response, cause error) (store.Effect, error) {
	for wait := newBackoff(); wait.sleep(ctx); {
		conn, err := e.pool.Acquire(ctx)
		if err != nil {
			continue
		}
		all, err := e.begin(ctx, conn.Conn())
		letGo(ctx, conn.Conn())
		conn.Release()
		if errors.Is(err, store.ErrCorrupt) {
			return store.Effect{}, inDoubtStill(cause, err)
		}
		if err != nil {
			continue
		}
		found := all[candidate].record
		if found != nil && found.State == machine.Completed && found.Nonce == e.invocation.Nonce {
			return e.result(candidate, begun, response, found.Finished)
		}
		return store.Effect{}, store.Unavailable(fmt.Errorf("the transaction was rolled back: %w", cause))
	}
	return store.Effect{}, inDoubtStill(cause, context.Cause(ctx))
}
