package sqlitestore

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A disk that fails under the commit of a group: each caller is told what is known of its own command, and a command that is
// sent again comes to the same end as if nothing had been.
func TestAGroupOnAFailingDisk(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]struct {
		code int32
		want error
	}{
		"full":      {lib.SQLITE_FULL, store.ErrUnavailable},
		"read-only": {lib.SQLITE_READONLY, store.ErrUnavailable},
		"failing":   {lib.SQLITE_IOERR_WRITE, store.ErrIndeterminate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, gate := newDisk(t, t.TempDir()), newGate()
			s := open(t, filepath.Join(d.dir, "reprise.db"), Options{Clock: gate.now, Detached: true, BusyTimeout: time.Second})
			begins := begun(t, s, 5)
			release := gate.close()
			results := make([]<-chan result, len(begins))
			for i, begin := range begins {
				results[i] = send(t.Context(), s, completion(begin, fmt.Appendf(nil, "answer %d", i)))
				if i == 0 {
					<-gate.arrived // the group has begun
				}
			}
			waitFor(t, func() bool { return len(s.writer.queue) == len(begins)-1 })
			d.fail(trouble.code)
			release()
			for i, waiting := range results {
				if got := <-waiting; !errors.Is(got.err, trouble.want) || store.Classify(got.err) != trouble.want || got.reply.Outcome != machine.Invalid {
					t.Errorf("command %d: %v, %v", i, got.reply.Outcome, got.err)
				}
			}
			d.fail(0)
			for i, begin := range begins {
				complete := completion(begin, fmt.Appendf(nil, "answer %d", i))
				if reply := apply(t, s, complete); reply.Outcome != machine.CompletedNow && (reply.Outcome != machine.AlreadyCompleted || trouble.want == store.ErrUnavailable) {
					t.Errorf("command %d, sent again: %v", i, reply.Outcome)
				}
				if got := want(t, s, machine.Replay, anotherCaller(begin)); string(got.Response.Data) != fmt.Sprintf("answer %d", i) {
					t.Errorf("command %d: %q", i, got.Response.Data)
				}
			}
			if err := integrity(s); err != nil {
				t.Error(err)
			}
		})
	}
}
