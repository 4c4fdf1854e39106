package meterrestore

import (
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/restore"
)

// A row of the inbox that is no event is listed as lost, by its number, and the others are counted.
func TestUnreadableInboxRowIsListed(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 4)
		p.must(p.ledger.PutInbox(t.Context(), p.events(5)))
		p.sql("UPDATE reprise.meter_inbox SET event = '{' WHERE id = 3")
		found, err := p.plan().waiting(t.Context(), p.meter)
		if err != nil {
			t.Fatal(err)
		}
		outcomes := map[string]restore.Outcome{}
		for _, f := range found {
			outcomes[f.Item] = f.Outcome
		}
		if len(found) != 2 || outcomes["event 3 of the inbox"] != restore.Lost || outcomes["inbox"] != restore.Waiting {
			t.Errorf("%+v", found)
		}
	})
}

// Of events that are lost so many are listed, whatever there is, and the others are counted by where they are.
func TestLostEventsAreListedUpToALimit(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 4)
		p.must(p.ledger.PutInbox(t.Context(), p.events(1)))
		p.sql("INSERT INTO reprise.meter_inbox (line, event_id, digest, event, received_at, available_at, worker) " +
			"SELECT line, 'e' || n, digest, '{', received_at, available_at, worker FROM reprise.meter_inbox, generate_series(1, 10003) n")
		found, err := p.plan().waiting(t.Context(), p.meter)
		if err != nil {
			t.Fatal(err)
		}
		var last restore.Finding
		for _, f := range found {
			if f.Outcome == restore.Lost {
				last = f
			}
		}
		if len(found) != mostLost+2 || last.Item != "more of the inbox" || !strings.HasPrefix(last.Detail, "3 more events") {
			t.Errorf("%d findings, the last %+v", len(found), last)
		}
	})
}
