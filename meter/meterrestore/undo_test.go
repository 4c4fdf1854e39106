package meterrestore

import (
	"context"
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

// meddled is a plan beside which somebody changes a key between the judgement of a correction and its write, once.
type meddled struct {
	*Plan
	meddle func(item string)
}

func (m *meddled) Correct(ctx context.Context, f restore.Finding, fence restore.Fence, keep restore.Keep) (restore.Correction, error) {
	return m.Plan.Correct(ctx, f, fence, func(ctx context.Context, old []byte) error {
		err := keep(ctx, old)
		if meddle := m.meddle; meddle != nil {
			m.meddle = nil
			meddle(f.Item)
		}
		return err
	})
}

// A key that has changed before it was put right is judged again: what is undone is what was replaced then, and nothing if it was right by
// itself.
func TestUndoOfWhatWasJudgedAgain(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		c := p.conn()
		key := ""
		for _, k := range c.do("KEYS", "remaining_indiv_amount:*").([]any) {
			key = k.(string)
		}
		right := c.hash(key)["amount"]
		for amount, want := range map[string]int64{"2": 1, right: 0} {
			plan := &meddled{p.plan(), func(item string) { c.do("HSET", item, "amount", amount) }}
			r := restore.New(p.sessions(), plan, restore.Options{Name: "test"})
			c.do("HSET", key, "amount", "1")
			if found, _ := p.check(r, true); found[key] != restore.Corrected {
				t.Fatalf("%v", found)
			}
			undone, left, err := r.Undo(t.Context(), 0, func(restore.Finding) {})
			if is := c.hash(key)["amount"]; err != nil || undone != want || left != 0 || is != amount {
				t.Errorf("undone %d, left %d, %v: %s is %s, and was %s when it was to be replaced", undone, left, err, key, is, amount)
			}
		}
	})
}
