package mysqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

// effectStatements are those of effects. They are used in other people's pools and transactions, whose
// sessions are as they are.
type effectStatements struct {
	claim, load, mark, end, remove, now, undone text
}

func (e Effects) statements() (s effectStatements, err error) {
	times := e.clock
	if times == (clock{}) {
		times = serverClock
	}
	for name, statement := range map[string]*text{
		"effect_claim": &s.claim, "effect_load": &s.load, "effect_mark": &s.mark, "effect_end": &s.end,
		"effect_delete": &s.remove, "effect_now": &s.now, "effect_undone": &s.undone,
	} {
		sql, err := times.read(name)
		if err != nil {
			return s, err
		}
		*statement = newText(sql)
	}
	return s, nil
}

// claim is an effect in a transaction.
type claim struct {
	effectStatements
	tx         *sql.Tx
	invocation *store.Invocation

	all       []*heldKey
	candidate int
	begun     *machine.Record
	reply     machine.Reply
	granted   bool
}

// heldKey is a candidate whose row is locked.
type heldKey struct {
	holding
	made bool // the row was made by this transaction
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
	if h := c.all[c.candidate]; !h.made {
		_, err := c.tx.ExecContext(ctx, c.mark.with(1, h.digest))
		return err
	}
	return nil
}

// hold claims the key of a candidate, or locks the row that is there, and loads it.
func (c *claim) hold(ctx context.Context, candidate int) (*heldKey, error) {
	h := &heldKey{holding: holding{digest: c.invocation.Candidates[candidate].Scope.Digest, stands: true}}
	// This is what the key would be begun with if it had no record. Its packed form is the same at any time.
	begin := c.invocation.Begin(candidate, 0)
	begin.CreateBefore, begin.CreateFrom = 0, 0
	fresh, reply := machine.Step(nil, begin, machine.Instant(1).Time())
	if fresh == nil {
		return nil, fmt.Errorf("the invocation makes no sense: %v: %s", reply.Outcome, reply.Reason)
	}
	packed := form.Pack(fresh).Record
	if _, err := c.tx.ExecContext(ctx, c.effectStatements.claim.with(h.digest, packed)); err != nil {
		return nil, err
	}
	var at, claimedAt, forgetAt int64
	var row form.Row
	if err := c.tx.QueryRowContext(ctx, c.load.with(h.digest)).Scan(&at, &claimedAt, &forgetAt, &row.Record, &row.Answer); err != nil {
		return nil, err
	}
	h.at, row.ClaimedAt, row.ForgetAt = machine.Instant(at), machine.Instant(claimedAt), machine.Instant(forgetAt)
	if h.made = bytes.Equal(row.Record, packed); h.made {
		return h, nil
	}
	var err error
	h.record, err = form.Unpack(h.digest, row)
	return h, err
}

// withdraw leaves all keys but one candidate's as they were.
func (c *claim) withdraw(ctx context.Context, but int) (err error) {
	for i, h := range c.all {
		if h.made && i != but {
			_, failed := c.tx.ExecContext(ctx, c.remove.with(h.digest))
			err = errors.Join(err, failed)
		}
	}
	return err
}

var errEnded = errors.New("the action ended the transaction that its answer was to be recorded in")

// end writes the record of the answer, and returns the time at which it was decided.
func (c *claim) end(ctx context.Context, response machine.Response) (machine.Instant, error) {
	var now int64
	if err := c.tx.QueryRowContext(ctx, c.now.with()).Scan(&now); err != nil {
		return 0, err
	}
	at := machine.Instant(now)
	next, reply := c.invocation.Finish(c.candidate, c.begun, response, at)
	if reply.Outcome != machine.CompletedNow {
		return 0, fmt.Errorf("the action's answer cannot be recorded: %v: %s", reply.Outcome, reply.Reason)
	}
	to, digest := form.Pack(next), c.all[c.candidate].digest
	result, err := c.tx.ExecContext(ctx, c.effectStatements.end.with(to.ClaimedAt, to.ForgetAt, to.Record, to.Answer, digest))
	if err != nil {
		return 0, err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return 0, errors.Join(errEnded, err)
	}
	return at, nil
}

func (c *claim) result(response machine.Response, at machine.Instant) store.Effect {
	_, reply := c.invocation.Finish(c.candidate, c.begun, response, at)
	return store.Effect{Response: response, Scope: c.invocation.Candidates[c.candidate].Scope, Reply: reply}
}
