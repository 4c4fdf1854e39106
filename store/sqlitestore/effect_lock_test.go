package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// hold runs an effect that stays open, and so keeps the file's write lock, until it is released.
func (s *shop) hold(key machine.Begin) (release func() error) {
	s.Helper()
	opened, released, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := s.effects().Do(s.Context(), s.db, invocation(key), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			close(opened)
			<-released
			return placing(key)(ctx, tx)
		})
		ended <- err
	}()
	select {
	case <-opened:
	case err := <-ended:
		s.Fatal(err)
	}
	return func() error {
		close(released)
		return <-ended
	}
}

// While an effect keeps the lock, whoever wants to write waits as long as it is ready to, and is unavailable
// then. Who only reads goes on.
func TestWhileAnEffectIsOpen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	impatient := s.open(Options{BusyTimeout: time.Millisecond})
	answered, begun, fresh := newBegin(), newBegin(), newBegin()
	if _, err := s.order(answered); err != nil {
		t.Fatal(err)
	}
	want(t, s.store, machine.Acquired, begun)
	held := newBegin()
	release := s.hold(held)

	for what, command := range map[string]machine.Command{"a begin": fresh, "a begin on the held key": anotherCaller(held), "a completion": completion(begun, nil)} {
		if _, err := impatient.Apply(t.Context(), command); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s of one who waits no longer: %v", what, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := s.store.Apply(ctx, command); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s whose context ends: %v", what, err)
		}
		cancel()
	}
	effects := s.effects()
	effects.BusyTimeout = time.Millisecond
	if _, err := effects.Do(t.Context(), s.db, invocation(fresh), placing(fresh)); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "locked") {
		t.Errorf("an effect that waits no longer: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.effects().Do(ctx, s.db, invocation(fresh), placing(fresh)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an effect whose context ends: %v", err)
	}

	want(t, s.store, machine.Replay, anotherCaller(answered))
	want(t, s.store, machine.InProgress, anotherCaller(begun))
	if effect, err := s.order(anotherCaller(answered)); err != nil || !effect.Replayed {
		t.Errorf("a replay by an effect: %+v, %v", effect, err)
	}
	_, err := s.order(anotherCaller(begun))
	refused(t, err, machine.InProgress)

	if err := release(); err != nil {
		t.Fatal(err)
	}
	want(t, s.store, machine.NotFound, machine.Inspect{Scope: fresh.Scope})
	want(t, s.store, machine.CompletedNow, completion(begun, nil))
	want(t, impatient, machine.Replay, anotherCaller(held))
}

// Who waits for the lock gets it, and goes on from what is committed then.
func TestAnEffectWaitsForTheLock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	held := newBegin()
	release := s.hold(held)
	told := make(chan error, 2)
	go func() {
		effect, err := s.order(anotherCaller(held))
		if err == nil && !effect.Replayed {
			err = errors.New("the duplicate was run")
		}
		told <- err
	}()
	go func() {
		_, err := s.store.Apply(s.Context(), newBegin())
		told <- err
	}()
	waitFor(t, func() bool { return s.db.Stats().InUse == 2 })
	if err := release(); err != nil {
		t.Error(err)
	}
	for range cap(told) {
		if err := <-told; err != nil {
			t.Error(err)
		}
	}
	if n := s.orders(held); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// Because a caller that is told "there is no record, and none may be made any more" goes on to another
// record of the same key: it is told so only when nobody is just making this one.
func TestBarredIsSaidUnderTheLock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	key := newBegin()
	release := s.hold(key)
	late := func(b machine.Begin) machine.Begin {
		b.CreateBefore = machine.InstantOf(s.clock.now())
		return b
	}
	tooLate := func(b machine.Begin) *store.Invocation {
		v := invocation(b)
		v.Candidates[0].CreateBefore = machine.InstantOf(s.clock.now())
		return v
	}
	ctx, cancel := context.WithCancel(t.Context())
	told := send(ctx, s.store, late(anotherCaller(key)))
	writing := func() bool { // the writer waits for the lock
		if s.store.writer.mu.TryLock() {
			s.store.writer.mu.Unlock()
			return false
		}
		return true
	}
	waitFor(t, func() bool { return len(told) > 0 || writing() })
	cancel()
	if got := <-told; !errors.Is(got.err, store.ErrUnavailable) {
		t.Errorf("told %v, %v while the record is being made", got.reply.Outcome, got.err)
	}
	effects := s.effects()
	effects.BusyTimeout = time.Millisecond
	if _, err := effects.Do(t.Context(), s.db, tooLate(anotherCaller(key)), placing(key)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an effect: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	want(t, s.store, machine.Replay, late(anotherCaller(key)))
	want(t, s.store, machine.Barred, late(newBegin()))
	_, err := s.effects().Do(t.Context(), s.db, tooLate(newBegin()), placing(key))
	refused(t, err, machine.Barred)
}

// An action whose time is over loses the lock, even if it does not return.
func TestAnActionThatTakesTooLong(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	effects := s.effects()
	effects.Limit = time.Second
	_, err := effects.Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		response, err := placing(begin)(ctx, tx)
		<-ctx.Done()
		s.free(begin) // somebody else has the lock now
		return response, err
	})
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errLimit) || !strings.Contains(err.Error(), "raise Effects.Limit") {
		t.Errorf("%v", err)
	}
	if n := s.orders(begin); n != 1 {
		t.Errorf("%d orders", n)
	}
}

// A caller that hangs up while its action runs has left nothing, and is told so.
func TestACallerOfAnEffectHangsUp(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, says := range []error{context.Canceled, nil} { // the action's own
		begin := newBegin()
		ctx, cancel := context.WithCancel(t.Context())
		_, err := s.effects().Do(ctx, s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			response, err := placing(begin)(ctx, tx)
			cancel()
			return response, errors.Join(err, says)
		})
		if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		s.free(begin)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.effects().Do(ctx, s.db, invocation(newBegin()), nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("before: %v", err)
	}
}

// The wait for the lock is the effect's; the connection's own one is as before.
func TestTheBusyTimeoutIsGivenBack(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.db = s.pool("_pragma=busy_timeout(1234)")
	s.db.SetMaxOpenConns(1)
	timeout := func(q querier) (ms int) {
		t.Helper()
		if err := q.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&ms); err != nil {
			t.Error(err)
		}
		return ms
	}
	begin := newBegin()
	_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		if ms := timeout(tx); ms != 1234 {
			t.Errorf("in the action: %d ms", ms)
		}
		return placing(begin)(ctx, tx)
	})
	if ms := timeout(s.db); err != nil || ms != 1234 {
		t.Errorf("afterwards: %d ms, %v", ms, err)
	}
	other := s.pool("_txlock=immediate")
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	effects := s.effects()
	effects.BusyTimeout = time.Millisecond
	_, err = effects.Do(t.Context(), s.db, invocation(newBegin()), nil)
	if ms := timeout(s.db); !errors.Is(err, store.ErrUnavailable) || ms != 1234 {
		t.Errorf("after it was not free: %d ms, %v", ms, err)
	}
}
