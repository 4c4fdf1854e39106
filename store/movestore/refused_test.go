package movestore_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/memstore"
	"github.com/reprise-dev/reprise/store/movestore"
)

// record is one that counts as there.
func record(c *clock, key byte) *machine.Record {
	at := machine.InstantOf(c.time())
	return &machine.Record{
		Scope: machine.Scope{Operation: "POST /x", SecretVersion: 1, Digest: machine.Digest{key}}, State: machine.Completed,
		Attempt: 1, Revision: 2, Claimed: at, Finished: at, WindowEnd: at.Add(time.Hour), RememberUntil: at.Add(time.Hour),
		Response: machine.NewResponse("text/1", []byte("answer")),
	}
}

func importing(t *testing.T, s *memstore.Store, records ...*machine.Record) {
	t.Helper()
	if _, err := s.Import(t.Context(), records); err != nil {
		t.Fatal(err)
	}
}

func addSecret(t *testing.T, s *memstore.Store, secret store.Secret) {
	t.Helper()
	if err := s.AddSecret(t.Context(), secret, 0); err != nil {
		t.Fatal(err)
	}
}

// Two stores that one cannot be moved to the other are refused, by the copy and by a process with both, and
// nothing is copied.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want  string
		spoil func(t *testing.T, c *clock, primary, previous *memstore.Store) (to, from *memstore.Store)
	}{
		"one store twice": {"one and the same", func(_ *testing.T, _ *clock, _, previous *memstore.Store) (to, from *memstore.Store) {
			return previous, previous
		}},
		"not empty": {"not empty", func(t *testing.T, c *clock, primary, previous *memstore.Store) (to, from *memstore.Store) {
			importing(t, primary, record(c, 1))
			return primary, previous
		}},
		"wrong way round": {"wrong way round", func(t *testing.T, c *clock, primary, previous *memstore.Store) (to, from *memstore.Store) {
			open(t, primary, previous, c, time.Hour)
			return previous, primary
		}},
		"filled from another": {"another store", func(t *testing.T, c *clock, primary, previous *memstore.Store) (to, from *memstore.Store) {
			_, other := stores(t, c)
			open(t, primary, other, c, time.Hour)
			return primary, previous
		}},
		"moved away itself": {"itself moved", func(t *testing.T, c *clock, primary, previous *memstore.Store) (to, from *memstore.Store) {
			further, _ := stores(t, c)
			open(t, further, previous, c, time.Hour)
			_, other := stores(t, c)
			return previous, other
		}},
		"another secret": {"another secret", func(t *testing.T, _ *clock, primary, previous *memstore.Store) (to, from *memstore.Store) {
			addSecret(t, primary, store.Secret{Version: 1, Check: machine.Digest{8}})
			return primary, previous
		}},
		"never used": {"never been used", func(_ *testing.T, c *clock, primary, _ *memstore.Store) (to, from *memstore.Store) {
			return primary, memstore.New(c.time)
		}},
		"clocks": {"clocks", func(_ *testing.T, c *clock, _, previous *memstore.Store) (to, from *memstore.Store) {
			return memstore.New(func() time.Time { return c.time().Add(time.Minute) }), previous
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newClock()
			primary, previous := stores(t, clock)
			importing(t, previous, record(clock, 2))
			to, from := c.spoil(t, clock, primary, previous)
			if got, err := movestore.Copy(t.Context(), from, to, movestore.CopyOptions{}); !errors.Is(err, movestore.ErrRefused) || !strings.Contains(err.Error(), c.want) || got.Written > 0 {
				t.Errorf("copied %d: %v", got.Written, err)
			}
			if _, err := movestore.Open(t.Context(), to, from, movestore.Options{}); !errors.Is(err, movestore.ErrRefused) {
				t.Errorf("opened: %v", err)
			}
		})
	}
}

// The instant of a move is announced in time, once, and not while a version of the secret waits for its own.
func TestInstantOfAMove(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	opened := func(from time.Duration) error {
		_, err := movestore.Open(t.Context(), primary, previous, movestore.Options{From: c.time().Add(from)})
		return err
	}
	if err := opened(movestore.Notice - time.Second); !errors.Is(err, movestore.ErrRefused) {
		t.Errorf("too soon: %v", err)
	}
	if err := opened(2 * movestore.Notice); err != nil {
		t.Errorf("in time: %v", err)
	}
	if err := opened(3 * movestore.Notice); !errors.Is(err, movestore.ErrRefused) {
		t.Errorf("another instant: %v", err)
	}
	s, err := movestore.Open(t.Context(), primary, previous, movestore.Options{})
	if err != nil || !s.From().Equal(c.time().Add(2*movestore.Notice)) {
		t.Fatalf("any instant: %v", err)
	}
	if err := s.AddSecret(t.Context(), store.Secret{Version: 2, Check: machine.Digest{9}, PrimaryFrom: machine.InstantOf(c.time().Add(time.Hour))}, 0); err == nil {
		t.Error("a version of the secret was added while records move")
	}
	if known, _, err := s.Secrets(t.Context()); err != nil || len(known) != 1 || known[0].Version != 1 {
		t.Errorf("the secrets of both: %+v, %v", known, err)
	}
	if err := previous.AddSecret(t.Context(), store.Secret{Version: 3, Check: machine.Digest{10}, PrimaryFrom: machine.InstantOf(c.time().Add(time.Hour))}, time.Minute); !errors.Is(err, store.ErrSecretTooLate) {
		t.Errorf("a version of the secret was added to the previous store: %v", err)
	}

	primary, previous = stores(t, c)
	addSecret(t, previous, store.Secret{Version: 2, Check: machine.Digest{9}, PrimaryFrom: machine.InstantOf(c.time().Add(time.Hour))})
	if err := opened(2 * time.Hour); !errors.Is(err, movestore.ErrRefused) {
		t.Errorf("while a version of the secret waits: %v", err)
	}
	c.advance(2 * time.Hour)
	if err := opened(2 * time.Hour); err != nil {
		t.Errorf("when it is primary: %v", err)
	}
}

// A version of the secret that was retired in the new store, where its records are not yet, is no version under which they would be found.
func TestRetiredTooEarly(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	addSecret(t, previous, store.Secret{Version: 2, Check: machine.Digest{9}, PrimaryFrom: machine.InstantOf(c.time().Add(time.Minute))})
	c.advance(2 * time.Hour)
	importing(t, previous, record(c, 2))
	s := open(t, primary, previous, c, time.Hour)
	if err := primary.RetireSecret(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got, err := movestore.Copy(t.Context(), previous, primary, movestore.CopyOptions{}); !errors.Is(err, movestore.ErrRefused) || !strings.Contains(err.Error(), "retired in the new store") {
		t.Errorf("copied %d: %v", got.Written, err)
	}
	if _, err := movestore.Verify(t.Context(), previous, primary, movestore.VerifyOptions{}); !errors.Is(err, movestore.ErrRefused) {
		t.Errorf("verified: %v", err)
	}
	if known, _, err := s.Secrets(t.Context()); err != nil || !known[0].Retired.IsZero() { // who has both goes on
		t.Errorf("the secrets of both: %+v, %v", known, err)
	}
	if err := previous.RetireSecret(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := movestore.Copy(t.Context(), previous, primary, movestore.CopyOptions{}); err != nil {
		t.Errorf("when it is retired in both: %v", err)
	}
}

// A copy tells what it left, and is complete when nothing can go on in the source.
func TestCopyIsComplete(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	importing(t, previous, record(c, 1), record(c, 2))
	begin := machine.Begin{Claim: machine.Claim{
		Scope: machine.Scope{Operation: "POST /x", SecretVersion: 1, Digest: machine.Digest{3}}, Owner: machine.Token{1}, Operation: machine.ID{1},
		Lease: time.Hour, Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{9}}},
	}, Nonce: machine.Nonce{1}}
	if _, err := previous.Apply(t.Context(), begin); err != nil {
		t.Fatal(err)
	}
	open(t, primary, previous, c, time.Minute)
	step := func(want movestore.Copied, complete bool) {
		t.Helper()
		got, err := movestore.Copy(t.Context(), previous, primary, movestore.CopyOptions{})
		if want.Pass = got.Pass; err != nil || got != want {
			t.Errorf("copied %+v, %v; want %+v", got, err, want)
		}
		found, err := movestore.Verify(t.Context(), previous, primary, movestore.VerifyOptions{})
		if err != nil || found.Complete() != complete || found.Looked != 3 {
			t.Errorf("verified %+v, %v; want complete %v", found, err, complete)
		}
	}
	step(movestore.Copied{Looked: 3, Written: 2, InUse: 1}, false)
	c.advance(2 * time.Minute)
	step(movestore.Copied{Looked: 3, Same: 2, InUse: 1, Made: true}, false)
	c.advance(30 * time.Minute)
	complete := machine.Complete{
		Hold:     machine.Hold{Scope: begin.Scope, Owner: begin.Owner, Attempt: 1, Revision: 1, Operation: begin.Operation, Nonce: begin.Nonce},
		Response: machine.NewResponse("text/1", nil), Window: time.Hour, Remember: time.Hour,
	}
	if reply, err := previous.Apply(t.Context(), complete); err != nil || reply.Outcome != machine.CompletedNow {
		t.Fatal(reply.Outcome, err)
	}
	step(movestore.Copied{Looked: 3, Written: 1, Same: 3, Made: true}, true)
	odd := record(c, 2)
	odd.Revision = 9
	importing(t, primary, odd)
	found, err := movestore.Verify(t.Context(), previous, primary, movestore.VerifyOptions{})
	if err != nil || found.Different != 1 || found.Complete() {
		t.Errorf("a record that is another one there: %+v, %v", found, err)
	}
}

// replaced is a store that may become another one, as one that is put back from a backup.
type replaced struct{ *memstore.Store }

// A store that is put back as it was before the move has lost records. That is not a store which cannot be asked.
func TestAStoreFromBeforeTheMoveHasLostRecords(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	target := &replaced{primary}
	s := open(t, target, previous, c, time.Hour)
	if _, _, err := s.Secrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	target.Store, _ = stores(t, c)
	if _, _, err := s.Secrets(t.Context()); !errors.Is(err, store.ErrLost) || !errors.Is(err, movestore.ErrRefused) {
		t.Errorf("%v", err)
	}
}

// sparse is a store whose listing begins with a page without records, as a scan may.
type sparse struct {
	*memstore.Store
	limits []int
}

func (s *sparse) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if s.limits = append(s.limits, limit); cursor == "" {
		return store.Page{At: machine.InstantOf(time.Now()), Next: "begin"}, nil
	}
	return s.Store.List(ctx, filter, strings.TrimPrefix(cursor, "begin"), limit)
}

// A page without records does not make the next ones small.
func TestPageWithoutRecords(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	importing(t, previous, record(c, 1), record(c, 2))
	source := &sparse{Store: previous}
	if got, err := movestore.Copy(t.Context(), source, primary, movestore.CopyOptions{}); err != nil || got.Written != 2 {
		t.Errorf("copied %+v, %v", got, err)
	}
	if len(source.limits) != 2 || source.limits[0] != source.limits[1] {
		t.Errorf("limits of pages: %v", source.limits)
	}
}

// overtaken is a store that another process marks and fills before it is listed for the first time.
type overtaken struct {
	*memstore.Store
	meanwhile func()
}

func (s *overtaken) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if meanwhile := s.meanwhile; meanwhile != nil {
		s.meanwhile = nil
		meanwhile()
	}
	return s.Store.List(ctx, filter, cursor, limit)
}

// Two processes begin one move at once. One of them marks the stores, and the other goes on with what it marked.
func TestTwoBeginAMoveAtOnce(t *testing.T) {
	t.Parallel()
	c := newClock()
	primary, previous := stores(t, c)
	importing(t, previous, record(c, 1))
	target := &overtaken{Store: primary, meanwhile: func() {
		if got, err := movestore.Copy(t.Context(), previous, primary, movestore.CopyOptions{}); err != nil || got.Written != 1 {
			t.Errorf("who is first copied %+v, %v", got, err)
		}
	}}
	if got, err := movestore.Copy(t.Context(), previous, target, movestore.CopyOptions{}); err != nil || got.Same != 1 {
		t.Errorf("who is second copied %+v, %v", got, err)
	}
}
