package meterrestore

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// waitingPage is how many events are looked up at once.
const waitingPage = 1000

// waiting says what becomes of events that were accepted and are still somewhere: in the streams, whoever had taken them, among the dead
// letters, and in the inbox. Those that have a row are only acknowledged when the gate is open, and the others are decided; which of
// them cannot be any more is listed by event. Of what was lost with Redis itself nobody has a list: whoever was not told that it is durable
// sends it again.
func (p *Plan) waiting(ctx context.Context, m *meterredis.Meter) (findings []restore.Finding, err error) {
	now, err := p.Ledger.Now(ctx)
	if err != nil {
		return nil, err
	}
	c := &counting{Plan: p, months: p.Horizon.Months(p.Calendar, now), now: now}
	for _, place := range []struct {
		name string
		read func(context.Context) error
	}{
		{"streams", func(ctx context.Context) error { return c.streams(ctx, m, false) }},
		{"dead letters", func(ctx context.Context) error { return c.streams(ctx, m, true) }},
		{"inbox", c.inbox},
	} {
		c.total, c.recorded, c.more, c.dead = 0, 0, 0, place.name == "dead letters"
		if err := place.read(ctx); err != nil {
			return nil, err
		}
		if c.total == 0 {
			continue
		}
		if c.more > 0 {
			c.findings = append(c.findings, restore.Finding{Kind: KindEvent, Item: "more of the " + place.name, Outcome: restore.Lost,
				Detail: fmt.Sprintf("%d more events are lost there, which are not listed: %d are", c.more, mostLost)})
		}
		next := "are decided when the gate is open"
		if c.dead {
			next = "stay refused: see `reprise meter dead-letters`"
		}
		c.findings = append(c.findings, restore.Finding{Kind: KindEvent, Item: place.name, Outcome: restore.Waiting,
			Detail: fmt.Sprintf("%d events are there: %d are in the done log, and %d %s", c.total, c.recorded, c.total-c.recorded, next)})
	}
	return c.findings, nil
}

// counting counts events.
type counting struct {
	*Plan
	months          []meter.Month
	now             time.Time
	dead            bool
	total, recorded int // of a place
	more            int // of a place, lost and not listed
	listed          int
	findings        []restore.Finding
}

// mostLost is how many lost events one look lists. They are held in memory, and each is a row in SQL; of a stream that nobody has read for a month there
// may be millions. The others are counted.
const mostLost = 10_000

// streams counts those in all streams of a kind.
func (c *counting) streams(ctx context.Context, m *meterredis.Meter, dead bool) error {
	for shard := range meterredis.Shards {
		for after := ""; ; {
			page, err := m.Entries(ctx, shard, dead, after, waitingPage)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			after = page[len(page)-1].ID
			var events []meter.Event
			for _, message := range page {
				e, err := meter.DecodeEvent([]byte(message.Text))
				if err != nil && !dead {
					c.loseNoEvent(fmt.Sprintf("delivery %s of stream %d", message.ID, shard), err)
				}
				if err == nil {
					events = append(events, e)
				}
			}
			if err := c.look(ctx, len(page), events); err != nil {
				return err
			}
		}
	}
	return nil
}

// inbox counts those in the inbox.
func (c *counting) inbox(ctx context.Context) error {
	for after := int64(0); ; {
		page, err := c.Ledger.PageInbox(ctx, after, waitingPage)
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1].Number
		var events []meter.Event
		for _, t := range page {
			if e, err := t.Event(); err == nil {
				events = append(events, e)
			} else {
				c.loseNoEvent(fmt.Sprintf("event %d of the inbox", t.Number), err)
			}
		}
		if err := c.look(ctx, len(page), events); err != nil {
			return err
		}
	}
}

// look asks the done log about events, of so many deliveries.
func (c *counting) look(ctx context.Context, deliveries int, events []meter.Event) error {
	c.total += deliveries
	ids := make([]meterledger.Identity, len(events))
	for i, e := range events {
		ids[i] = meterledger.Identity{Line: e.Line, Event: e.ID}
	}
	found, err := c.Ledger.LookupDone(ctx, ids)
	if err != nil {
		return err
	}
	for i, e := range events {
		_, there := found[ids[i]]
		switch month := c.Calendar.Month(e.At); {
		case there:
			c.recorded++
		case !c.dead && (month < c.months[0] || month > c.months[len(c.months)-1]):
			c.lose(fmt.Sprintf("%s %s", e.Line, e.ID), fmt.Sprintf("it happened at %s, and its month is over: book it by hand", e.At.UTC().Format(time.RFC3339)))
		}
	}
	return nil
}

func (c *counting) lose(item, why string) {
	if c.listed == mostLost {
		c.more++
		return
	}
	c.listed++
	c.findings = append(c.findings, restore.Finding{Kind: KindEvent, Item: item, Outcome: restore.Lost, Detail: why})
}

// loseNoEvent loses what cannot be read.
func (c *counting) loseNoEvent(item string, err error) {
	c.lose(item, fmt.Sprintf("it is no event, and becomes a dead letter: %v", err))
}
