package sqlitestore

import (
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func renewal(begin machine.Begin) machine.Renew {
	return machine.Renew{Hold: completion(begin, nil).Hold, Lease: time.Hour}
}

// What the writer remembers of its own records does not hide what another handle made of them.
func TestOthersChangesAreSeen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "reprise.db")
	ours, others := open(t, path, Options{}), open(t, path, Options{})
	begins := begun(t, ours, 3)

	want(t, others, machine.Renewed, renewal(begins[0]))
	want(t, ours, machine.Stale, completion(begins[0], nil))

	want(t, others, machine.CompletedNow, completion(begins[1], []byte("answer")))
	reply := want(t, ours, machine.Replay, anotherCaller(begins[1]))
	if string(reply.Response.Data) != "answer" {
		t.Errorf("answer %q", reply.Response.Data)
	}
	// What was not changed is still there after the memory was dropped.
	want(t, ours, machine.CompletedNow, completion(begins[2], nil))
}

// What was rolled back is not remembered as done.
func TestWhatWasUndoneIsForgotten(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	begin := begun(t, s, 1)[0]
	failures := 1
	sabotage(t, s, func(tx *transaction) *statement { return tx.updating }, func([]driver.NamedValue) error {
		if failures--; failures == 0 {
			return errors.New("this row cannot be written")
		}
		return nil
	})
	if _, err := s.Apply(t.Context(), renewal(begin)); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("a renewal that cannot be written: %v", err)
	}
	want(t, s, machine.Renewed, renewal(begin))
}

// However many records are open, the writer holds few of them, and finds the others in the file.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	m := memory{rows: map[machine.Digest]row{}}
	for i := range 3 * memoryLimit {
		m.put(int64(i), &machine.Record{State: machine.Executing, Scope: machine.Scope{Digest: machine.Digest{byte(i), byte(i >> 8), byte(i >> 16)}}})
		if len(m.rows) > memoryLimit {
			t.Fatalf("%d records after %d", len(m.rows), i+1)
		}
	}
	s := newStore(t, Options{})
	begins := begun(t, s, 2)
	if err := s.do(t.Context(), func(tx *transaction, _ time.Time) error { tx.memory.forgetAll(); return nil }); err != nil {
		t.Fatal(err)
	}
	want(t, s, machine.CompletedNow, completion(begins[0], nil))
}
