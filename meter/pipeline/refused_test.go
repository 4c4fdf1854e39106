package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Rows that SQL does not take, of events in the streams and in the inbox, keep no others from being recorded. Their events are dead letters that say
// what SQL said, and are counted once when they are sent again.
func TestRowsThatSQLRefuses(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 8)
		var good, bad []meter.Event
		for n := range 60 {
			e := p.event(n)
			if n%20 == 7 {
				e.ID = fmt.Sprintf("forbidden-%d", n)
				bad = append(bad, e)
			} else {
				good = append(good, e)
			}
		}
		p.harm("ALTER TABLE reprise.meter_done ADD CONSTRAINT picky CHECK (event_id NOT LIKE 'forbidden-%')")
		p.accept(p.intake(false), append(good[:20:20], bad[:2]...))
		p.accept(p.intake(true), append(good[20:], bad[2:]...))
		stop := p.work()
		p.rows(good)
		p.drained()
		dead := p.deadLetters()
		for _, d := range dead {
			if d.Reason != meter.BadRow || !strings.Contains(d.Detail, "picky") || !strings.Contains(d.Text, "forbidden-") {
				t.Errorf("%+v", d)
			}
		}
		if len(dead) != len(bad) {
			t.Errorf("%d dead letters, want %d", len(dead), len(bad))
		}
		p.harm("ALTER TABLE reprise.meter_done DROP CONSTRAINT picky")
		for _, d := range dead {
			if sent, err := p.streams.Resend(t.Context(), d); !sent || err != nil {
				t.Errorf("sent again: %v, %v", sent, err)
			}
		}
		p.rows(bad)
		p.drained()
		stop()
		p.audit()
	})
}

// deadLetters are those of all shards.
func (p *plant) deadLetters() (all []meterredis.DeadLetter) {
	p.t.Helper()
	for shard := range meterredis.Shards {
		dead, err := p.streams.DeadLetters(p.t.Context(), shard, "", 1000)
		p.must(err)
		all = append(all, dead...)
	}
	return all
}
