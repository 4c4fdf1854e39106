package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// serverTimeout is how long a server may take to let somebody in and to say what it has.
const serverTimeout = 15 * time.Second

var errSilentServer = fmt.Errorf("the server did not answer within %v: check host and port, and what is between here and there", serverTimeout)

// asking is the context of a question that a server has to answer soon.
func asking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, serverTimeout, errSilentServer)
}

// noStore says that a server answers and has no store. It is found as [fs.ErrNotExist].
type noStore string

func (e noStore) Error() string        { return string(e) }
func (e noStore) Is(target error) bool { return target == fs.ErrNotExist }

// declared is a store on a server, which `store init` has told its first secret. One that knows of none is
// new, or somebody has emptied or replaced it, also while it is in use. A guard would take it for new and
// announce its secret; here it is told that the store has lost what it had.
type declared struct {
	store.Store
	store.SecretKeeper
	place *place
}

func newDeclared(s store.Store, p *place) store.Store {
	keeper, ok := store.As[store.SecretKeeper](s)
	if !ok {
		return s // a guard refuses it
	}
	return &declared{s, keeper, p}
}

// Unwrap implements [store.Unwrapper].
func (d *declared) Unwrap() store.Store { return d.Store }

// Apply implements [store.Store]. What it says of a loss goes to the log, with the next step.
func (d *declared) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	reply, err := d.Store.Apply(ctx, command)
	if err != nil && d.place.acceptLoss != nil && errors.Is(err, store.ErrLost) {
		err = fmt.Errorf("%w. When somebody has looked and decided: %s", err, d.place.accepting())
	}
	return reply, err
}

// accepting is the command line that accepts a loss.
func (p *place) accepting() string {
	return "reprise store init --accept-loss --who NAME --why REASON --store " + p.argument()
}

// Secrets implements [store.SecretKeeper].
func (d *declared) Secrets(ctx context.Context) ([]store.Secret, machine.Instant, error) {
	known, at, err := d.SecretKeeper.Secrets(ctx)
	if err == nil && len(known) == 0 {
		err = fmt.Errorf("%w, or never had any: %v knows of no secret", store.ErrLost, d.place)
	}
	return known, at, err
}
