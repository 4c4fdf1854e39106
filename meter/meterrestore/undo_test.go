package meterrestore

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// Of a stream only the expiry is put right, and undone while nothing else of it has changed. What waited in it then is not put back: what was
// accepted since would be lost, and what was recorded would wait again.
func TestUndoKeepsWhatWasAccepted(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		r := p.runner(p.sessions(), "test")
		c := p.conn()
		const streams = "intake:*"
		waiting := func() (n int64) {
			for _, key := range c.do("KEYS", streams).([]any) {
				n += c.do("XLEN", key.(string)).(int64)
			}
			return n
		}
		corrected := func() {
			t.Helper()
			for _, key := range c.do("KEYS", streams).([]any) {
				c.do("PEXPIRE", key.(string), "5000000")
			}
			if _, done := p.check(r, true); done.Findings[restore.Corrected] != meterredis.Shards {
				t.Fatalf("corrected: %+v", done)
			}
		}
		corrected()
		if undone, left, err := r.Undo(t.Context(), 0, func(restore.Finding) {}); undone != meterredis.Shards || left != 0 || err != nil {
			t.Errorf("with nothing accepted since: undone %d, left %d, %v", undone, left, err)
		}
		corrected()
		const accepted = 40
		if _, err := p.intake.Accept(t.Context(), time.Now(), p.events(accepted)); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Undo(t.Context(), 0, func(restore.Finding) {}); err != nil {
			t.Fatal(err)
		}
		if n := waiting(); n != accepted {
			t.Errorf("of %d events that were accepted since %d wait", accepted, n)
		}
	})
}
