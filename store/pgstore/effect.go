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
	"github.com/reprise-dev/reprise/store/internal/form"
	"github.com/reprise-dev/reprise/store/internal/gather"
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
// is returned, and the action is not run. Meanwhile the key is in progress for everybody else: see
// [Store.Apply]. An action that ends the transaction all the same leaves the key unknown: what it did may be committed.
// One that then begins another, has that fail and returns an error is the exception: the server tells nothing any more.
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
	for wait, until := gather.NewBackoff(), time.Now().Add(e.Wait); ; {
		result, err := t.run(ctx, action)
		if !t.busy {
			return result, err
		}
		if !time.Now().Before(until) || !wait.Sleep(ctx) {
			return invocation.Answered(0, machine.Reply{Outcome: machine.InProgress})
		}
	}
}

// effect is one call of Do.
type effect struct {
	effectStatements
	pool       *pgxpool.Pool
	invocation *store.Invocation
	busy       bool // another transaction has the key. An error does not tell: an action may return one of its own
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
	e.busy = errors.Is(err, errBusy)
	if err != nil {
		letGo(ctx, conn.Conn())
		return store.Effect{}, unsent(ctx, err)
	}
	// The last time is the one that was read under the locks of all.
	candidate, begun, reply, granted := e.invocation.Decide(records(all), all[len(all)-1].at)
	if !granted {
		letGo(ctx, conn.Conn())
		return e.invocation.Answered(candidate, reply)
	}
	response, err := action(ctx, &effectTx{conn: conn.Conn()})
	if ended(ctx, conn.Conn(), all[candidate], err) {
		return store.Effect{}, e.orphaned(ctx, conn.Conn(), err)
	}
	if err != nil {
		letGo(ctx, conn.Conn())
		return store.Effect{}, err
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
	if errors.Is(err, errEnded) {
		return store.Effect{}, e.orphaned(ctx, conn.Conn(), nil)
	}
	if certain(err) {
		return store.Effect{}, store.Unavailable(explain(err))
	}
	conn.Release() // the look-up needs one too
	return e.settle(ctx, candidate, begun, response, err)
}

// begin begins the transaction, locks and loads the candidates and reads the time, in one round trip.
func (e *effect) begin(ctx context.Context, conn *pgx.Conn) ([]*held, error) {
	if len(e.invocation.Candidates) == 0 {
		return nil, errNoCandidate
	}
	all := make([]*held, 0, len(e.invocation.Candidates))
	requests := append(make([]request, 0, 3), request{sql: beginSQL})
	for _, c := range e.invocation.Candidates {
		h := &held{digest: c.Scope.Digest}
		all = append(all, h)
		high, low := effectLockForm(&h.digest)
		requests = append(requests, h.requests(e.lock, [][]byte{lockForm(&h.digest), high, low}, e.load)...)
	}
	if err := exchange(ctx, conn, unprepared(conn), requests...); err != nil {
		return nil, err
	}
	for _, h := range all {
		if err := h.ok(); err != nil {
			return nil, err
		}
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
	packed   form.Row
	remember int64
}

func (s effectStatements) ending(invocation *store.Invocation, candidate int, begun *machine.Record, response machine.Response) (ending, error) {
	next, reply := invocation.Finish(candidate, begun, response, begun.Claimed)
	if reply.Outcome != machine.CompletedNow {
		return ending{}, fmt.Errorf("the action's answer cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	return ending{invocation.Candidates[candidate].Scope.Digest, form.Pack(next), int64(next.RememberUntil - next.Finished)}, nil
}

func (e *effect) finish(candidate int, begun *machine.Record, response machine.Response) (ending, error) {
	return e.ending(e.invocation, candidate, begun, response)
}

// end writes the record and commits, in one round trip. It returns the time at which it was decided.
func (e *effect) end(ctx context.Context, conn *pgx.Conn, h *held, end ending) (at machine.Instant, err error) {
	requests := make([]request, 0, 4)
	first, second := headForm(&end.digest), tailForm(&end.digest)
	if h.stands {
		requests = append(requests, request{sql: e.remove(h), arguments: [][]byte{first, second, h.began}})
	}
	requests = append(requests, request{
		e.insert, [][]byte{first, second, bigint(int64(end.packed.ClaimedAt)), bigint(end.remember), end.packed.Record, end.packed.Answer, h.began},
		func(columns [][]byte) error {
			at = machine.Instant(readBigint(columns[0]) - end.remember)
			return nil
		},
	})
	if h.awaited {
		requests = append(requests, request{sql: e.notify, arguments: [][]byte{[]byte(e.channel), []byte(end.digest.String())}})
	}
	err = exchange(ctx, conn, unprepared(conn), append(requests, request{sql: "COMMIT"})...)
	if err == nil && at.IsZero() {
		err = errEnded
	}
	return at, err
}

func (e *effect) result(candidate int, begun *machine.Record, response machine.Response, at machine.Instant) (store.Effect, error) {
	_, reply := e.invocation.Finish(candidate, begun, response, at)
	return store.Effect{Response: response, Scope: e.invocation.Candidates[candidate].Scope, Reply: reply}, nil
}

// settle looks up whether a commit whose reply was lost has happened. The transaction holds the key's
// lock until it has ended, so whoever gets the lock sees what came of it.
func (e *effect) settle(ctx context.Context, candidate int, begun *machine.Record, response machine.Response, cause error) (store.Effect, error) {
	for wait := gather.NewBackoff(); wait.Sleep(ctx); {
		conn, err := e.pool.Acquire(ctx)
		if err != nil {
			continue
		}
		all, err := e.begin(ctx, conn.Conn())
		if err == nil {
			err = notRecovering(ctx, conn.Conn())
		}
		letGo(ctx, conn.Conn())
		conn.Release()
		if errors.Is(err, store.ErrCorrupt) {
			return store.Effect{}, form.InDoubtStill(cause, err)
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
	return store.Effect{}, form.InDoubtStill(cause, context.Cause(ctx))
}

// notRecovering refuses a standby: it has the record as it was, and the lock that it gives is not that of the transaction.
func notRecovering(ctx context.Context, conn *pgx.Conn) error {
	var recovering bool
	if err := conn.QueryRow(ctx, recoveringSQL, pgx.QueryExecModeSimpleProtocol).Scan(&recovering); err != nil {
		return err
	}
	if recovering {
		return errStandby
	}
	return nil
}

var errStandby = errors.New("the server is a standby: it cannot say what became of a commit")
