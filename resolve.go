package reprise

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Resolver finds out what happened to an operation whose outcome is unknown, for example by asking
// the service that it called. It is asked only when the action can no longer be running
// ([Policy.LongestAction]). An error is the same as [StillUnknown], and is logged.
type Resolver func(ctx context.Context, unknown UnknownOperation) (Resolution, error)

// UnknownOperation is what a resolver is told.
type UnknownOperation struct {
	Operation string
	Digest    machine.Digest
	Attempt   uint32
	// Reason is why it is unknown, such as "interrupted".
	Reason string
	// Evidence is the answer that the action returned beside its error, if any.
	Evidence Response
	Claimed  time.Time
	Started  time.Time
	key      *secretKey
}

// DownstreamKey returns what [Run.DownstreamKey] returned to the action.
func (u UnknownOperation) DownstreamKey(name string) string { return u.key.downstream(u.Digest, name) }

// Resolution is a resolver's answer. Make one with [Happened], [DidNotHappen] or [StillUnknown].
type Resolution struct {
	decided   bool
	completed bool
	response  Response
	evidence  string
}

// Happened says that the effect happened, and what the answer is, which is kept up to [Policy.MaxKept] as an action's is. Evidence is for the
// record.
func Happened(response Response, evidence string) Resolution {
	return Resolution{decided: true, completed: true, response: response, evidence: evidence}
}

// DidNotHappen says that the effect did not happen and can no longer happen. Evidence is for the record.
func DidNotHappen(evidence string) Resolution { return Resolution{decided: true, evidence: evidence} }

// StillUnknown leaves the operation as it is.
func StillUnknown() Resolution { return Resolution{} }

// Swept is what a [Guard.Sweep] came to.
type Swept struct {
	Asked   int // operations about which the resolver was asked
	Settled int
}

const sweepPage = 100

// Sweep asks the resolver about every unknown operation in the store that is old enough, once. A
// program that has a resolver calls it from time to time. The resolver sees operations of other guards
// on the same store too, and answers [StillUnknown] for those it does not know.
func (g *Guard) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	if g.policy.Resolver == nil {
		return swept, invalid("Sweep needs Policy.Resolver")
	}
	lister, ok := store.As[store.Lister](g.store)
	if !ok {
		return swept, &Error{Kind: ErrInvalid, Detail: "the store cannot list records", Cause: store.ErrUnsupported}
	}
	filter := store.Filter{States: []machine.State{machine.Abandoned}}
	for cursor := ""; ; {
		page, err := lister.List(ctx, filter, cursor, sweepPage)
		if err != nil {
			return swept, unavailable(err)
		}
		for _, record := range page.Records {
			asked, settled := g.resolveRecord(ctx, record, page.At)
			swept.Asked += asked
			swept.Settled += settled
		}
		if cursor = page.Next; cursor == "" || ctx.Err() != nil {
			return swept, ctx.Err()
		}
	}
}

// resolve asks the resolver about one record, and reports whether it was settled.
func (g *Guard) resolve(ctx context.Context, digest machine.Digest) bool {
	bounded, cancel := context.WithTimeout(ctx, g.policy.CommandTimeout)
	defer cancel()
	reply, err := g.store.Apply(bounded, machine.Inspect{Scope: machine.Scope{Digest: digest}})
	if err != nil || reply.Outcome != machine.Found || reply.State != machine.Abandoned {
		return false
	}
	_, settled := g.resolveRecord(ctx, reply.Record, reply.At)
	return settled == 1
}

// resolveRecord asks about a record as it was at an instant, and settles it. The settlement names the
// revision that was judged: a record that changed meanwhile stays as it is.
func (g *Guard) resolveRecord(ctx context.Context, r *machine.Record, at machine.Instant) (asked, settled int) {
	state, reason := r.Judge(at)
	key := g.policy.Secrets.version(r.Scope.SecretVersion)
	if state != machine.Abandoned || key == nil || at < r.LeaseEnd.Add(g.policy.LongestAction) {
		return 0, 0
	}
	log := g.policy.Log.With("record", r.Scope.Digest, "operation", r.Scope.Operation)
	resolution, err := g.policy.Resolver(ctx, UnknownOperation{
		Operation: r.Scope.Operation, Digest: r.Scope.Digest, Attempt: r.Attempt, Reason: reason,
		Evidence: responseOf(r.Response), Claimed: r.Claimed.Time(), Started: r.Started.Time(), key: key,
	})
	if err != nil {
		log.Warn("reprise: the resolver failed", "error", err)
	}
	if err != nil || !resolution.decided {
		return 1, 0
	}
	if err := g.settle(ctx, r, resolution); err != nil {
		log.Warn("reprise: settling failed", "error", err)
		return 1, 0
	}
	return 1, 1
}

func (g *Guard) settle(ctx context.Context, r *machine.Record, resolution Resolution) error {
	id, err := uuid.NewRandom()
	if err != nil {
		return err
	}
	command := machine.Settle{
		Scope: r.Scope, Operation: machine.ID(id), Revision: r.Revision, Completed: resolution.completed,
		Window: g.policy.ReplayWindow, Remember: g.policy.Remember,
		Who: "resolver", Why: "asked what happened", Evidence: cut(resolution.evidence, machine.MaxStatement),
	}
	if resolution.completed {
		command.Response = g.kept(resolution.response)
	} else {
		command.Window, command.Remember = 0, g.policy.RetryableFor
	}
	reply, err := g.applyTwice(ctx, command)
	if err == nil && reply.Outcome != machine.SettledNow && reply.Outcome != machine.AlreadySettled {
		err = fmt.Errorf("not settled: %v %s", reply.Outcome, reply.Reason)
	}
	return err
}

// applyTwice sends a command, and once more when its reply is lost: a retry changes nothing.
func (g *Guard) applyTwice(ctx context.Context, c machine.Command) (reply machine.Reply, err error) {
	for range 2 {
		bounded, cancel := context.WithTimeout(ctx, g.policy.CommandTimeout)
		reply, err = g.store.Apply(bounded, c)
		cancel()
		if err == nil || store.Classify(err) != store.ErrIndeterminate {
			break
		}
	}
	return reply, err
}
