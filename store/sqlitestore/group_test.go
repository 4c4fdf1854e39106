package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// gate is a clock at which the writer stops when it is closed: everything sent meanwhile waits for, or
// belongs to, the group that is running.
type gate struct {
	*clock
	mu      sync.Mutex
	arrived chan struct{} // gets a signal when somebody stops
	open    chan struct{} // nil when nobody is to stop
}

func newGate() *gate { return &gate{clock: newClock(), arrived: make(chan struct{}, 1)} }

func (g *gate) now() time.Time {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open != nil {
		select {
		case g.arrived <- struct{}{}:
		default:
		}
		<-open
	}
	return g.clock.now()
}

// close makes whoever asks for the time stop, until the returned function is called.
func (g *gate) close() (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := make(chan struct{})
	g.open = open
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open = nil
		close(open)
	}
}

// result is what Apply returned.
type result struct {
	reply machine.Reply
	err   error
}

// send applies a command from a goroutine of its own.
func send(ctx context.Context, s *Store, command machine.Command) <-chan result {
	out := make(chan result, 1)
	go func() {
		reply, err := s.Apply(ctx, command)
		out <- result{reply, err}
	}()
	return out
}

// begun returns begins that have acquired their keys.
func begun(t *testing.T, s *Store, n int) []machine.Begin {
	t.Helper()
	begins := make([]machine.Begin, n)
	for i := range begins {
		begins[i] = newBegin()
		want(t, s, machine.Acquired, begins[i])
	}
	return begins
}

// A context that ends before the group began withdraws the command; one that ends in the group leaves
// the caller without knowledge, while the command goes on.
func TestContextBeforeAndInAGroup(t *testing.T) {
	t.Parallel()
	gate := newGate()
	s := newStore(t, Options{Clock: gate.now, GroupLimit: 1, Detached: true})
	begins := begun(t, s, 2)

	release := gate.close()
	running, stopRunning := context.WithCancel(t.Context())
	waiting, stopWaiting := context.WithCancel(t.Context())
	inGroup := send(running, s, completion(begins[0], nil))
	<-gate.arrived
	queued := send(waiting, s, completion(begins[1], nil))
	waitFor(t, func() bool { return len(s.writer.queue) == 1 })

	stopWaiting()
	if got := <-queued; !errors.Is(got.err, store.ErrUnavailable) || !errors.Is(got.err, context.Canceled) {
		t.Errorf("withdrawn before its group: %v", got.err)
	}
	stopRunning()
	if got := <-inGroup; !errors.Is(got.err, store.ErrIndeterminate) || errors.Is(got.err, store.ErrUnavailable) {
		t.Errorf("left in its group: %v", got.err)
	}
	release()
	want(t, s, machine.AlreadyCompleted, completion(begins[0], nil))
	if state := want(t, s, machine.Found, machine.Inspect{Scope: begins[1].Scope}).State; state != machine.Executing {
		t.Errorf("the withdrawn completion left the record %v", state)
	}
}

func TestContextThatHasEnded(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begin := newBegin()
	if _, err := s.Apply(ctx, begin); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("apply: %v", err)
	}
	want(t, s, machine.NotFound, machine.Inspect{Scope: begin.Scope})
}

// Commands of one key that wait together are decided in the order in which they came, each on what the
// one before it left.
func TestOneKeyInOneGroup(t *testing.T) {
	t.Parallel()
	gate := newGate()
	s := newStore(t, Options{Clock: gate.now, Detached: true})
	begin := begun(t, s, 1)[0]
	blocker := begun(t, s, 1)[0]

	release := gate.close()
	blocked := send(t.Context(), s, completion(blocker, nil))
	<-gate.arrived
	renew := machine.Renew{Hold: completion(begin, nil).Hold, Lease: time.Minute}
	complete := completion(begin, []byte("answer"))
	complete.Revision = 2
	var results []<-chan result
	for i, command := range []machine.Command{renew, complete, renew, complete} {
		results = append(results, send(t.Context(), s, command))
		waitFor(t, func() bool { return len(s.writer.queue) == i+1 })
	}
	release()
	if got := <-blocked; got.err != nil {
		t.Fatal(got.err)
	}
	for i, outcome := range []machine.Outcome{machine.Renewed, machine.CompletedNow, machine.Stale, machine.AlreadyCompleted} {
		if got := <-results[i]; got.err != nil || got.reply.Outcome != outcome {
			t.Errorf("command %d: %v, %v; want %v", i, got.reply.Outcome, got.err, outcome)
		}
	}
}

// Replays are answered while the writer stands still in the middle of a group.
func TestReplaysDoNotWaitForWrites(t *testing.T) {
	t.Parallel()
	path, writing, reading := filepath.Join(t.TempDir(), "reprise.db"), newGate(), newClock()
	s := open(t, path, Options{Clock: func() time.Time { return writing.now() }})
	other := open(t, path, Options{Clock: reading.now})
	begins := begun(t, s, 2)
	want(t, s, machine.CompletedNow, completion(begins[0], []byte("answer")))

	release := writing.close()
	blocked := send(t.Context(), s, completion(begins[1], nil))
	<-writing.arrived
	// The lock is held by s. The other handle stands for s itself too: reading is the same code.
	reply := want(t, other, machine.Replay, anotherCaller(begins[0]))
	if string(reply.Response.Data) != "answer" {
		t.Errorf("answer %q", reply.Response.Data)
	}
	want(t, other, machine.InProgress, anotherCaller(begins[1]))
	release()
	if got := <-blocked; got.err != nil {
		t.Fatal(got.err)
	}
}

// A key whose lock another handle holds for longer than the caller waits was not touched.
func TestBusyIsUnavailable(t *testing.T) {
	t.Parallel()
	path, gate := filepath.Join(t.TempDir(), "reprise.db"), newGate()
	holder := open(t, path, Options{Clock: gate.now})
	begin := begun(t, holder, 1)[0]
	other := open(t, path, Options{Clock: gate.clock.now, BusyTimeout: time.Millisecond})

	release := gate.close()
	held := send(t.Context(), holder, completion(begin, nil))
	<-gate.arrived
	fresh := newBegin()
	if _, err := other.Apply(t.Context(), fresh); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a begin while another handle writes: %v", err)
	}
	release()
	if got := <-held; got.err != nil {
		t.Fatal(got.err)
	}
	want(t, other, machine.NotFound, machine.Inspect{Scope: fresh.Scope})
	want(t, holder, machine.Acquired, fresh)
}

func TestClose(t *testing.T) {
	t.Parallel()
	gate := newGate()
	s := newStore(t, Options{Clock: gate.now, GroupLimit: 1, Detached: true})
	begins := begun(t, s, 2)

	release := gate.close()
	running := send(t.Context(), s, completion(begins[0], nil))
	<-gate.arrived
	waiting := send(t.Context(), s, completion(begins[1], nil))
	waitFor(t, func() bool { return len(s.writer.queue) == 1 })
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	<-s.closing
	if _, err := s.Apply(t.Context(), completion(begins[1], nil)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("after close: %v", err)
	}
	release()
	if got := <-running; got.err != nil || got.reply.Outcome != machine.CompletedNow {
		t.Errorf("the running command: %v, %v", got.reply.Outcome, got.err)
	}
	// The one that waited was done, or was told that it was not.
	if got := <-waiting; got.err != nil && !errors.Is(got.err, store.ErrUnavailable) {
		t.Errorf("the waiting command: %v", got.err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// waitFor polls for something that another goroutine is about to do.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for tick := time.NewTicker(100 * time.Microsecond); !done(); {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not happen")
		}
	}
}

// saboteur replaces a statement of the writer's by one that fails.
type saboteur struct {
	driver.Stmt
	fails func(args []driver.NamedValue) error
}

func (s saboteur) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.fails(args); err != nil {
		return nil, err
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// sabotage makes a statement of the writer's connection fail where fails says so.
func sabotage(t *testing.T, s *Store, which func(*transaction) *statement, fails func([]driver.NamedValue) error) {
	t.Helper()
	var armed atomic.Bool // not before the task that does it is committed itself
	err := s.do(t.Context(), func(tx *transaction, _ time.Time) error {
		statement := which(tx)
		statement.stmt = saboteur{statement.stmt, func(args []driver.NamedValue) error {
			if !armed.Load() {
				return nil
			}
			return fails(args)
		}}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
}

// A caller that has left may use what its claim pointed to for something else: the writer reads a copy.
func TestAClaimIsKeptForTheWriter(t *testing.T) {
	t.Parallel()
	for _, command := range []func(b machine.Begin) machine.Command{
		func(b machine.Begin) machine.Command { return b.Claim },
		func(b machine.Begin) machine.Command { return b },
	} {
		clock := newClock()
		var asked atomic.Int32
		inGroup, release := make(chan struct{}), make(chan struct{})
		s := newStore(t, Options{Detached: true, Clock: func() time.Time {
			if asked.Add(1) == 2 { // by the look, and by the writer
				close(inGroup)
				<-release
			}
			return clock.now()
		}})
		begin := newBegin()
		was := begin.Fingerprints[0]
		ctx, leave := context.WithCancel(t.Context())
		left := send(ctx, s, command(begin))
		<-inGroup
		leave()
		if got := <-left; !errors.Is(got.err, store.ErrIndeterminate) {
			t.Fatalf("left in its group: %v", got.err)
		}
		begin.Fingerprints[0].Sum = machine.Digest{2}
		close(release)
		want(t, s, machine.Acquired, newBegin()) // after the first
		if got := want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope}).Record.Fingerprint; got != was {
			t.Errorf("%v: the record has the fingerprint %v", command(begin).Kind(), got)
		}
	}
}
