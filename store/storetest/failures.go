package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
)

// runEnded sends commands that certainly cannot be applied: to a closed store, and with a context that
// has ended. Both say so, and nothing has changed.
func runEnded(d *database) {
	c := newCaller(d.scope("ended"), "holder")
	executing(d, c)
	cancelled, cancel := context.WithCancel(d.Context())
	cancel()
	late, cancelLate := context.WithTimeout(d.Context(), 0)
	defer cancelLate()
	closed, err := d.harness.Open()
	if err != nil {
		d.Fatal(err)
	}
	ended := map[string]func(machine.Command) error{
		"cancelled": func(command machine.Command) error { _, err := d.store.Apply(cancelled, command); return err },
		"too late":  func(command machine.Command) error { _, err := d.store.Apply(late, command); return err },
	}
	fresh := newCaller(d.scope("never"), "holder")
	commands := []machine.Command{fresh.claim, fresh.begin(), c.renew(), c.complete(), c.fail(true), machine.Inspect{Scope: c.claim.Scope}}
	check := func(name string, apply func(machine.Command) error) {
		for _, command := range commands {
			if err := apply(command); !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
				d.Errorf("%s: %v: %v, want unavailable", name, command.Kind(), err)
			}
		}
	}
	for name, apply := range ended {
		check(name, apply)
	}
	d.inspect(fresh.claim.Scope)
	record := d.inspect(c.claim.Scope)
	d.erring("cancelled", cancelled, d.store, record)
	d.inspect(c.claim.Scope)
	if err := closed.Close(); err != nil {
		d.Fatalf("close: %v", err)
	}
	check("closed", func(command machine.Command) error { _, err := closed.Apply(d.Context(), command); return err })
	d.erring("closed", d.Context(), closed, record)
	if watcher, ok := store.As[store.Watcher](closed); ok {
		_, stop := watcher.Watch(c.claim.Scope, c.hold.Revision)
		stop()
	}
}

// erring tries what stores do beside Apply, where nothing can be done.
func (d *database) erring(why string, ctx context.Context, s store.Store, record *machine.Record) {
	d.Helper()
	check := func(what string, err error) {
		if !errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate) {
			d.Errorf("%s: %s: %v, want unavailable", why, what, err)
		}
	}
	keeper := d.keeper(s)
	_, _, err := keeper.Secrets(ctx)
	check("secrets", err)
	check("add a secret", keeper.AddSecret(ctx, store.Secret{Version: 1, Check: sum("secret")}, ahead))
	check("retire a secret", keeper.RetireSecret(ctx, 1))
	if l, ok := store.As[store.Lister](s); ok {
		_, err := l.List(ctx, store.Filter{}, "", 10)
		check("list", err)
	}
	if c, ok := store.As[store.Counter](s); ok {
		_, err := c.Count(ctx)
		check("count", err)
	}
	if p, ok := store.As[store.Purger](s); ok {
		_, err := p.Purge(ctx, 10)
		check("purge", err)
	}
	if i, ok := store.As[store.Importer](s); ok {
		_, err := i.Import(ctx, []*machine.Record{record})
		check("import", err)
	}
}

// modelled is the store of a database, with every reply compared, as faultstore's inner store.
type modelled struct{ *database }

func (m modelled) Apply(_ context.Context, command machine.Command) (machine.Reply, error) {
	return m.apply(command), nil
}

func (m modelled) Close() error { return nil }

// runLost loses every transition once, before and after it took effect, and delivers it twice. The
// same command again tells the truth: applied now, or applied before.
func runLost(t *testing.T, open func(t *testing.T) Harness) {
	d := newDatabase(t, open(t))
	for _, tr := range transitions() {
		for name, lost := range map[string]struct {
			fault faultstore.Fault
			err   error
			want  machine.Outcome // of the same command again
		}{
			"refused":    {faultstore.Refused(), store.ErrUnavailable, tr.first},
			"unsent":     {faultstore.Unsent(), store.ErrIndeterminate, tr.first},
			"reply lost": {faultstore.ReplyLost(), store.ErrIndeterminate, tr.again},
			"twice":      {faultstore.Twice(), nil, tr.again},
		} {
			c := newCaller(d.scope(tr.name+name), "holder")
			if tr.reach != nil {
				tr.reach(d, c)
			}
			faulty := faultstore.New(modelled{d}, faultstore.Nth(1, lost.fault))
			reply, err := faulty.Apply(d.Context(), tr.command(c))
			if !errors.Is(err, lost.err) || err == nil && reply.Outcome != tr.first {
				t.Errorf("%s, %s: %v, %v", tr.name, name, reply.Outcome, err)
			}
			d.expect(lost.want, tr.command(c))
			d.refuse(tr.again, tr.command(c))
		}
	}
}

// runLateCopies delivers old commands when the world has moved on. None of them changes anything.
func runLateCopies(d *database) {
	c := newCaller(d.scope("late copies"), "holder")
	c.claim.Interruption = machine.Rerun
	claimed(d, c)
	oldStart, oldRenewal, oldRelease := c.start(), c.renew(), c.release()
	c.learn(d.expect(machine.Started, oldStart))
	oldCompletion, oldFailure := c.complete(), c.fail(true)
	d.refuse(machine.WrongState, c.release())
	d.refuse(machine.Stale, oldRelease)
	d.refuse(machine.Stale, oldRenewal)
	d.advance(lease)
	next := another(c)
	oldTakeover := seen(next, c.hold.Revision).begin()
	next.learn(d.expect(machine.TakenOver, oldTakeover))
	for _, command := range []machine.Command{oldStart, oldRenewal, oldRelease, oldCompletion, oldFailure} {
		d.refuse(machine.NotOwner, command)
	}
	d.refuse(machine.InProgress, c.claim)
	next.learn(d.expect(machine.Failed, next.fail(true)))
	// The key is to be had again. Claims that saw an earlier revision do not get it.
	d.refuse(machine.Takeable, oldTakeover)
	d.refuse(machine.Takeable, c.claim)
	d.refuse(machine.NotOwner, oldCompletion)
}
