package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A held answer does not expire, replays like any other, and once released lives for as long as it was to be remembered.
func TestHeldAnswers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, e := d.open(), newEffect(t, increment).Held()
	counter := d.business("account 7", "counter")
	v := invocation("key", "account 7")
	got, err := e.Do(t.Context(), s, v, []string{counter}, "5")
	if err != nil {
		t.Fatal(err)
	}
	held := want(t, s, machine.Found, machine.Inspect{Scope: got.Scope}).Record
	d.advance(10 * 365 * 24 * time.Hour)
	replays := func(when string) {
		t.Helper()
		again, err := e.Do(t.Context(), s, invocation("key", "account 7"), []string{counter}, "5")
		if err != nil || string(again.Response.Data) != "now 5" || !again.Replayed || d.number(counter) != 5 {
			t.Errorf("%s: %+v, %v", when, again, err)
		}
	}
	replays("held for ten years")
	other := invocation("other key", "account 7")
	n, err := s.Release(t.Context(), []machine.Digest{other.Candidates[0].Scope.Digest, got.Scope.Digest}, v.Remember)
	if err != nil || n != 1 {
		t.Fatalf("released %d, %v; want 1: the other is not there", n, err)
	}
	if n, err := s.Release(t.Context(), []machine.Digest{got.Scope.Digest}, v.Remember); err != nil || n != 0 {
		t.Errorf("released again: %d, %v", n, err)
	}
	replays("after its release")
	released := want(t, s, machine.Found, machine.Inspect{Scope: got.Scope}).Record
	if released.Finished.Sub(held.Finished) < 10*365*24*time.Hour || released.RememberUntil.Sub(released.Finished) != v.Remember {
		t.Errorf("held it was finished at %v; released at %v, remembered until %v", held.Finished, released.Finished, released.RememberUntil)
	}
	d.advance(v.Remember + 2*grace)
	if key := d.record(got.Scope.Digest); key != "" {
		t.Error("a released answer did not expire")
	}

	d.do("DEL", d.names.generation(bucketOf(got.Scope.Digest)))
	if _, err := s.Release(t.Context(), []machine.Digest{got.Scope.Digest}, v.Remember); !errors.Is(err, store.ErrLost) {
		t.Errorf("in a lost bucket: %v", err)
	}
}
