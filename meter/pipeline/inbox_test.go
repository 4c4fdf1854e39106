package pipeline

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
)

// harm runs a statement on the ledger as somebody else does.
func (p *plant) harm(statement string) {
	p.t.Helper()
	dsn, err := url.Parse(p.dsn)
	if err != nil {
		p.t.Fatal(err)
	}
	if name := path.Base(dsn.Path); dsn.Scheme == "postgres" {
		servicetest.Postgres(p.t).Exec(name, statement)
	} else {
		servicetest.MariaDB(p.t).Exec(name, strings.ReplaceAll(statement, "reprise.", ""))
	}
}

// A row of the inbox that is no event becomes a dead letter with what is wrong, and all others are decided.
func TestUnreadableInboxRows(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 4)
		var events []meter.Event
		for n := range 30 {
			events = append(events, p.event(n))
		}
		p.accept(p.intake(true), events)
		spoiled := map[string]string{"event-0": "", "event-7": `{"event_id":"event-7",`, "event-29": `{"event_id":"event-29"}`}
		wanted := map[string]meter.Reason{"": meter.Malformed, spoiled["event-7"]: meter.Malformed, spoiled["event-29"]: meter.MissingField}
		for id, text := range spoiled {
			p.harm("UPDATE reprise.meter_inbox SET event = '" + text + "' WHERE event_id = '" + id + "'")
		}
		defer p.workBy(WorkerOptions{Batch: 10})()
		var rest []meter.Event
		for _, e := range events {
			if _, ok := spoiled[e.ID]; !ok {
				rest = append(rest, e)
			}
		}
		p.rows(rest)
		p.drained()
		for _, d := range p.deadLetters() {
			if reason, ok := wanted[d.Text]; !ok || d.Reason != reason || d.Detail == "" {
				t.Errorf("%+v", d)
			}
		}
		if n, err := p.streams.Dead(t.Context()); n != 3 || err != nil {
			t.Errorf("%d dead letters, %v", n, err)
		}
		p.audit()
	})
}

// A worker that stops when what was refused is among the dead letters, and still in the inbox, leaves no second letter: another one comes upon it again.
func TestRefusedOnceThoughTakenTwice(t *testing.T) {
	t.Parallel()
	ctx, p := t.Context(), newPlant(t, servicetest.Postgres(t).Database(t), 4)
	w := NewWorker(WorkerOptions{Meter: p.meter, Streams: p.streams, Ledger: p.ledger, Directory: p.directory})
	counted := p.event(0)
	p.accept(p.intake(true), []meter.Event{counted})
	take := func(want int) (deliveries []delivery) {
		t.Helper()
		taken, err := p.ledger.TakeInbox(ctx, "a worker", 1000, inboxLease)
		if err != nil || len(taken) != want {
			t.Fatalf("%d were taken, %v; want %d", len(taken), err, want)
		}
		for _, t := range taken {
			deliveries = append(deliveries, delivery{taken: t, text: t.Text})
		}
		return deliveries
	}
	w.workInbox(ctx, take(1))
	var others []meter.Event
	for n := range 600 { // more than a look at them takes at once
		e := counted
		e.Bytes += int64(n) + 1
		others = append(others, e)
	}
	p.accept(p.intake(true), others)
	deliveries := take(len(others))
	w.workInbox(ctx, deliveries[:590])
	w.workInbox(ctx, deliveries)
	w.workInbox(ctx, deliveries)
	texts := map[string]int{}
	for _, d := range p.deadLetters() {
		texts[d.Text]++
		if d.Reason != meter.OtherContent || texts[d.Text] > 1 {
			t.Errorf("letter %d of %+v", texts[d.Text], d)
		}
	}
	if len(texts) != len(others) {
		t.Errorf("%d dead letters, want %d", len(texts), len(others))
	}
	p.drained()
	p.audit()
}
