package meterrestore

import (
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
