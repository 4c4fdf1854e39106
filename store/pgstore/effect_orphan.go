package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

var errEnded = errors.New("the action ended the transaction that its answer was to be recorded in: it is to return instead, with an error to roll back")

// lookTime is for how long is looked after an action whose context may have ended.
const lookTime = 5 * time.Second

// ended reports whether an action has ended its transaction, even if it has begun another. If there is an answer, the statements that
// would record it are asked. A transaction that has failed cannot be asked.
func ended(ctx context.Context, conn *pgx.Conn, h *held, failed error) (ended bool) {
	switch status := conn.PgConn().TxStatus(); {
	case status == 'I':
		return true
	case status != 'T' || failed == nil || conn.IsClosed():
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	same := true
	err := exchange(ctx, conn, unprepared(conn), request{sameTransactionSQL, [][]byte{h.began}, func(columns [][]byte) error {
		same = readBool(columns[0])
		return nil
	}})
	return err == nil && !same
}

// orphaned is the error of an action that ended its transaction. What it did may be committed, and its claim was never written: so that
// the next try does not run it again, its key becomes unknown. cause is the action's own error, if it returned one.
func (e *effect) orphaned(ctx context.Context, conn *pgx.Conn, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime)
	defer cancel()
	if conn.PgConn().TxStatus() != 'I' {
		letGo(ctx, conn) // it is another one
	}
	err := e.orphan(ctx, conn)
	if err != nil {
		letGo(ctx, conn)
		err = fmt.Errorf("and the key could not be made unknown: the next try runs it again: %w", err)
	}
	return store.Indeterminate(errors.Join(errEnded, err, cause))
}

// orphan writes that nobody knows what came of the action. Where somebody else has used the key since the lock of it ended, that stands.
func (e *effect) orphan(ctx context.Context, conn *pgx.Conn) error {
	all, err := e.begin(ctx, conn)
	if err != nil {
		return err
	}
	at := all[len(all)-1].at
	candidate, begun, _, granted := e.invocation.Decide(records(all), at)
	if !granted {
		letGo(ctx, conn)
		return nil
	}
	fail := e.invocation.Fail(e.invocation.Hold(candidate, begun.Attempt, begun.Revision), false, errEnded.Error(), machine.Response{})
	next, reply := machine.Step(begun, fail, at.Time())
	if next == begun {
		return fmt.Errorf("it cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	h, to := all[candidate], form.Pack(next)
	first, second := headForm(&h.digest), tailForm(&h.digest)
	requests := make([]request, 0, 4)
	if h.stands {
		requests = append(requests, request{sql: e.remove(h), arguments: [][]byte{first, second, h.began}})
	}
	var forgetAt []byte // such records have no end
	requests = append(requests, request{sql: e.insertOpen, arguments: [][]byte{first, second, bigint(int64(to.ClaimedAt)), forgetAt, to.Record, to.Answer}})
	if h.awaited {
		requests = append(requests, request{sql: e.notify, arguments: [][]byte{[]byte(e.channel), []byte(h.digest.String())}})
	}
	return exchange(ctx, conn, unprepared(conn), append(requests, request{sql: "COMMIT"})...)
}
