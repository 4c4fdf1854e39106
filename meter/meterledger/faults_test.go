package meterledger_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/store"
)

// servers are those that are tested, with the framing of what they speak.
func servers(t testing.TB) map[string]struct {
	dsn     string
	framing faultnet.Framing
} {
	return map[string]struct {
		dsn     string
		framing faultnet.Framing
	}{
		"Postgres": {servicetest.Postgres(t).Database(t), faultnet.Postgres()},
		"MariaDB":  {servicetest.MariaDB(t).Database(t), faultnet.MySQL()},
	}
}

// Every message of an operation is lost once, before the server saw it and after it answered. What the error says is true,
// and the same again ends as if nothing had been lost.
func TestFaults(t *testing.T) {
	t.Parallel()
	for what, fault := range map[string]faultnet.Fault{"refused": faultnet.RequestLost(), "unanswered": faultnet.ReplyLost()} {
		for name, server := range servers(t) {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				f := newFaults(t, server.dsn, server.framing)
				f.appends(what, fault)
				f.folds(what, fault)
				f.grants(what, fault)
			})
		}
	}
}

func newFaults(t *testing.T, dsn string, framing faultnet.Framing) *faults {
	t.Helper()
	there, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	f := &faults{t: t, proxy: faultnet.New(t, there.Host, framing)}
	f.near = open(t, dsn)
	f.far = open(t, f.proxy.Through(dsn))
	if err := f.near.Import(t.Context(), nil, []meterledger.Line{{ID: "ann", Individual: meter.MaxAmount}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.near.OpenMonth(t.Context(), 202603); err != nil {
		t.Fatal(err)
	}
	if err := f.near.NewGeneration(t.Context(), "", "a1", "test", "first"); err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t testing.TB, dsn string) *meterledger.Ledger {
	t.Helper()
	l, err := meterledger.Open(t.Context(), dsn, meterledger.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

type faults struct {
	t         *testing.T
	proxy     *faultnet.Proxy
	near, far *meterledger.Ledger
	version   int64
}

// operation is something that is prepared, done any number of times, and then is there or not.
type operation struct {
	prepare, do func() error
	done        func() bool
}

// each does something with a fault at the first, second, … message, until there was no message left to lose.
func (f *faults) each(what string, fault faultnet.Fault, o operation) {
	f.t.Helper()
	n := 1
	defer func() { f.t.Logf("%s: %d messages", what, n) }()
	for struck := true; struck; n++ {
		if err := o.prepare(); err != nil {
			f.t.Fatal(err)
		}
		f.proxy.SetPlan(faultnet.Nth(n, fault))
		err := o.do()
		struck = f.proxy.Struck() > 0
		f.proxy.SetPlan(faultnet.None)
		doubtful := errors.Is(err, store.ErrIndeterminate)
		switch was := o.done(); {
		case err == nil && !was:
			f.t.Fatalf("%s %d: no error, and nothing is there", what, n)
		case err != nil && !doubtful && !errors.Is(err, store.ErrUnavailable):
			f.t.Fatalf("%s %d: %v", what, n, err)
		case err != nil && !doubtful && was:
			f.t.Fatalf("%s %d: it is there, and the error says that it is not: %v", what, n, err)
		}
		err = o.do()
		for tries := 1; err == nil && !o.done() && tries < 1000; tries++ { // a fold leaves out what a connection has that the server does not know to be gone
			err = o.do()
		}
		if err != nil || !o.done() {
			f.t.Fatalf("%s %d: again: %v", what, n, err)
		}
	}
}

func (f *faults) row() meter.Row {
	f.version++
	return row("ann", f.version)
}

func (f *faults) appends(what string, fault faultnet.Fault) {
	var rows []meter.Row
	f.each("append, "+what, fault, operation{
		prepare: func() error {
			rows = []meter.Row{f.row(), f.row(), f.row()}
			return nil
		},
		do: func() error {
			_, err := f.far.AppendDone(f.t.Context(), "a1", rows)
			return err
		},
		done: func() bool {
			ids := make([]meterledger.Identity, len(rows))
			for i, r := range rows {
				ids[i] = meterledger.Identity{Line: r.Event.Line, Event: r.Event.ID}
			}
			found, err := f.near.LookupDone(f.t.Context(), ids)
			if err != nil || len(found) != 0 && len(found) != len(rows) {
				f.t.Fatalf("%s: %d of %d rows are there: %v", what, len(found), len(rows), err)
			}
			return len(found) > 0
		},
	})
}

func (f *faults) folds(what string, fault faultnet.Fault) {
	folded := func() bool {
		a, err := f.near.Audit(f.t.Context(), meterledger.Range{})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, d := range a.Differences() {
			f.t.Fatalf("%s: %v", what, d)
		}
		all, err := f.near.Changes(f.t.Context(), "a1", []string{"l:ann"}, meter.Span{})
		if err != nil {
			f.t.Fatal(err)
		}
		return all["l:ann"].Unfolded == 0
	}
	f.each("fold, "+what, fault, operation{
		prepare: func() error {
			_, err := f.near.AppendDone(f.t.Context(), "a1", []meter.Row{f.row()})
			return err
		},
		do: func() error {
			_, err := f.far.Fold(f.t.Context(), meterledger.FoldOptions{})
			if err != nil && folded() {
				return fmt.Errorf("%w: %w", store.ErrIndeterminate, err) // it was the note of the fold's end that was lost
			}
			return err
		},
		done: folded,
	})
}

func (f *faults) grants(what string, fault faultnet.Fault) {
	var g meter.Grant
	f.each("grant, "+what, fault, operation{
		prepare: func() error {
			f.version++
			g = meter.Grant{ID: fmt.Sprintf("grant-%d", f.version), Kind: meter.TopUp, Line: "ann", Month: 202604, Individual: 1}
			return nil
		},
		do: func() error {
			_, err := f.far.AddGrant(f.t.Context(), g)
			return err
		},
		done: func() bool {
			all, err := f.near.UnconfirmedGrants(f.t.Context(), g.Month, "", 1000)
			if err != nil {
				f.t.Fatal(err)
			}
			return slices.ContainsFunc(all, func(one meterledger.GrantRow) bool { return one.Grant == g })
		},
	})
}
