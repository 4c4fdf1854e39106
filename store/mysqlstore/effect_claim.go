package mysqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// effectStatements are those of effects. They are used in other people's pools and transactions, whose
// sessions are as they are.
type effectStatements struct {
	try, claim, load, mark, write, savepoint, release, ownClaim, left, end, endOwn, remove, now, undone, flush text
}

// statements returns them for a transaction that is begun for an effect, or for one that is its caller's. In the
// first what is noted is the session's last inserted id, which comes back with the reply; in the second that is
// the caller's.
func (e Effects) statements(own bool) (s effectStatements, err error) {
	note := "("
	if own {
		note = "LAST_INSERT_ID("
	}
	times := e.clock
	if times == (clock{}) {
		times = serverClock
	}
	for name, statement := range map[string]*text{
		"effect_try": &s.try, "effect_claim": &s.claim, "effect_load": &s.load, "effect_mark": &s.mark, "effect_write": &s.write, "effect_savepoint": &s.savepoint, "effect_release": &s.release, "effect_own": &s.ownClaim, "effect_left": &s.left,
		"effect_end": &s.end, "effect_end_own": &s.endOwn,
		"effect_delete": &s.remove, "effect_now": &s.now, "effect_undone": &s.undone, "effect_flush": &s.flush,
	} {
		sql, err := times.read(name)
		if err != nil {
			return s, err
		}
		*statement = newText(strings.ReplaceAll(sql, "reprise_note(", note))
	}
	return s, nil
}

// claim is an effect in a transaction.
type claim struct {
	effectStatements
	tx         *sql.Tx
	invocation *store.Invocation
	own        bool // the transaction is READ COMMITTED for sure

	all       []*heldKey
	candidate int
	begun     *machine.Record
	reply     machine.Reply
	granted   bool
	lost      bool // what was written as the claim was not there at the end
}

// heldKey is a candidate whose row is locked.
type heldKey struct {
	holding
	place  int64 // made_at
	made   bool  // the row was made by this transaction
	marked bool  // or its mark was changed
	effect int64 // as it was
	was    form.Row
	claim  []byte // the record that was written as the claim
	taken  bool   // over was
}

var errNoCandidate = errors.New("the invocation names no key: prepare it with the guard")

// begin locks the candidates, and decides. What it has written for candidates that are not used is taken back.
// An error that is held says that somebody else has one of them.
func (c *claim) begin(ctx context.Context) error {
	if len(c.invocation.Candidates) == 0 {
		return errNoCandidate
	}
	records := make([]*machine.Record, 0, len(c.invocation.Candidates))
	for i := range c.invocation.Candidates {
		h, err := c.hold(ctx, i)
		if err != nil {
			return errors.Join(err, c.withdraw(ctx, -1))
		}
		c.all = append(c.all, h)
		records = append(records, h.record)
	}
	c.candidate, c.begun, c.reply, c.granted = c.invocation.Decide(records, c.all[len(c.all)-1].at)
	if !c.granted {
		return c.withdraw(ctx, -1)
	}
	if err := c.withdraw(ctx, c.candidate); err != nil {
		return err
	}
	h := c.all[c.candidate]
	if h.made {
		return nil
	}
	// Should the action commit, its claim is committed with what it did, as that of a row that was made.
	to := form.Pack(c.begun)
	h.claim, h.taken = to.Record, true
	return c.put(ctx, h, to, h.effect%2+1) // another than what is committed
}

// put writes a record in the row of a key.
func (c *claim) put(ctx context.Context, h *heldKey, to form.Row, effect int64) error {
	_, err := c.tx.ExecContext(ctx, c.write.with(to.ClaimedAt, to.ForgetAt, effect, to.Record, to.Answer, h.place, h.digest))
	return err
}

// hold claims the key of a candidate, or locks the row that is there, and loads it.
func (c *claim) hold(ctx context.Context, candidate int) (*heldKey, error) {
	h := &heldKey{holding: holding{digest: c.invocation.Candidates[candidate].Scope.Digest, stands: true}}
	if c.own { // the server locks what lies beside a row that an insertion finds
		err := c.read(ctx, h, c.try)
		if !errors.Is(err, sql.ErrNoRows) {
			return h, err
		}
	}
	// This is what the key would be begun with if it had no record. Its packed form is the same at any time.
	begin := c.invocation.Begin(candidate, 0)
	begin.CreateBefore, begin.CreateFrom = 0, 0
	fresh, reply := machine.Step(nil, begin, machine.Instant(1).Time())
	if fresh == nil {
		return nil, fmt.Errorf("the invocation makes no sense: %v: %s", reply.Outcome, reply.Reason)
	}
	h.place = time.Now().UnixMicro() // decides nothing
	h.claim = form.Pack(fresh).Record
	result, err := c.tx.ExecContext(ctx, c.effectStatements.claim.with(h.place, h.digest, h.claim))
	if err != nil {
		return nil, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return nil, err
	}
	if h.made = n == 1; h.made {
		h.at, err = c.madeAt(ctx, candidate, result)
		return h, err
	}
	h.marked = true
	if err := c.read(ctx, h, c.load); err != nil {
		return nil, err
	}
	h.effect = h.effect%2 + 1 // the other, which is as good as what it was
	return h, nil
}

// madeAt returns the time of a row that was made. A candidate with bounds needs one that was read under the lock.
func (c *claim) madeAt(ctx context.Context, candidate int, made sql.Result) (machine.Instant, error) {
	if bounds := c.invocation.Candidates[candidate]; !c.own || len(c.invocation.Candidates) > 1 || bounds.CreateBefore != 0 || bounds.CreateFrom != 0 {
		return c.time(ctx)
	}
	id, err := made.LastInsertId()
	return machine.Instant(id), err
}

// read reads the row of a key.
func (c *claim) read(ctx context.Context, h *heldKey, statement text) error {
	var at, claimedAt, forgetAt int64
	var row form.Row
	err := c.tx.QueryRowContext(ctx, statement.with(h.digest)).Scan(&at, &h.place, &h.effect, &claimedAt, &forgetAt, &row.Record, &row.Answer)
	if err != nil {
		return err
	}
	h.at, row.ClaimedAt, row.ForgetAt = machine.Instant(at), machine.Instant(claimedAt), machine.Instant(forgetAt)
	h.was = row
	h.record, err = form.Unpack(h.digest, row)
	return err
}

// time returns the server's.
func (c *claim) time(ctx context.Context) (machine.Instant, error) {
	var now int64
	err := c.tx.QueryRowContext(ctx, c.now.with()).Scan(&now)
	return machine.Instant(now), err
}

// withdraw leaves all keys but one candidate's as they were.
func (c *claim) withdraw(ctx context.Context, but int) (err error) {
	for i, h := range c.all {
		var failed error
		switch {
		case i == but:
		case h.made:
			_, failed = c.tx.ExecContext(ctx, c.remove.with(h.place, h.digest))
		case h.taken:
			failed = c.put(ctx, h, h.was, h.effect)
		case h.marked:
			_, failed = c.tx.ExecContext(ctx, c.mark.with(h.effect, h.place, h.digest))
		}
		err = errors.Join(err, failed)
	}
	return err
}

// end writes the record of the answer, and returns the time at which it was decided.
func (c *claim) end(ctx context.Context, response machine.Response) (at machine.Instant, err error) {
	if at = c.begun.Claimed; !c.own {
		if at, err = c.time(ctx); err != nil {
			return 0, err
		}
	}
	next, reply := c.invocation.Finish(c.candidate, c.begun, response, at)
	if reply.Outcome != machine.CompletedNow {
		return 0, fmt.Errorf("the action's answer cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	// The packed form is the same at any time.
	to, h, remember := form.Pack(next), c.all[c.candidate], next.RememberUntil-next.Finished
	statement := c.effectStatements.end.with(to.ClaimedAt, to.ForgetAt, to.Record, to.Answer, h.place, h.digest, h.claim)
	if c.own {
		statement = c.endOwn.with(to.ClaimedAt, remember, to.Record, to.Answer, h.place, h.digest, h.claim)
	}
	result, err := c.tx.ExecContext(ctx, statement)
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		c.lost = true
		return 0, errors.Join(errEnded, err)
	}
	if c.own {
		id, err := result.LastInsertId()
		return machine.Instant(id) - remember, err
	}
	return at, nil
}

func (c *claim) result(response machine.Response, at machine.Instant) store.Effect {
	_, reply := c.invocation.Finish(c.candidate, c.begun, response, at)
	return store.Effect{Response: response, Scope: c.invocation.Candidates[c.candidate].Scope, Reply: reply}
}
