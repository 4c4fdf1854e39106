package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/meter/inspect"
)

// play tells the story, line by line.
func (d *meterDemo) play(ctx context.Context) error {
	fmt.Fprint(d.tale.out, "\n  A Redis and a MariaDB of its own are started from this machine's programs.\n\n")
	if err := d.prepare(ctx); err != nil {
		return err
	}
	for _, scene := range []func(context.Context) error{d.begins, d.usage, d.balances, d.lost, d.again} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return d.tale.end()
}

// begins loads lines, fills Redis, and starts two processes.
func (d *meterDemo) begins(ctx context.Context) error {
	if err := d.parts.settle(ctx, d.traffic); err != nil {
		return err
	}
	counts, err := d.parts.ledger.Counts(ctx)
	if err != nil {
		return err
	}
	d.tale.line("Lines and families are in SQL, with their grants of the month", fmt.Sprintf("%d lines, %d families", counts.Lines, counts.Families), fmt.Sprintf("%d lines, %d families", d.traffic.lines, d.traffic.families))
	d.tale.line("Redis is filled from SQL, and its gate is open", fmt.Sprintf("open: %t", d.parts.meter.Opened(ctx)), "open: true")
	return errors.Join(d.serve(ctx, 0), d.serve(ctx, 1))
}

// usage sends events to both processes, and kills one of them in the middle.
func (d *meterDemo) usage(ctx context.Context) error {
	d.traffic.halfway = d.serving[1].kill
	events, err := d.traffic.send(ctx)
	if err != nil {
		return err
	}
	if err := d.serve(ctx, 1); err != nil {
		return err
	}
	d.sent = events
	if err := d.once(ctx, fmt.Sprintf("%d events, 5%% of them twice, 2%% late; one of two processes is killed", len(events))); err != nil {
		return err
	}
	return d.audit(ctx)
}

// once waits until all is decided, and says how many of the events have a row.
func (d *meterDemo) once(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 40*time.Second, errors.New("events are under way for more than 40 seconds"))
	defer cancel()
	if err := d.parts.drained(ctx); err != nil {
		return err
	}
	decided, err := d.parts.decided(ctx, d.sent)
	if err != nil {
		return err
	}
	d.tale.line(text, fmt.Sprintf("%d in the done log", decided), fmt.Sprintf("%d in the done log", len(d.sent)))
	return nil
}

// audit runs the command, and compares how many events it has found.
func (d *meterDemo) audit(ctx context.Context) error {
	printed, err := d.reprise(ctx, "audit")
	if err != nil {
		return err
	}
	fmt.Fprintln(d.tale.out)
	said := "no difference"
	if !strings.HasSuffix(strings.TrimSpace(printed), said) || !strings.Contains(printed, fmt.Sprintf("%d events", len(d.sent))) {
		said = "something else"
	}
	d.tale.line("The audit counts each event once, and recomputes every balance", said, "no difference")
	return nil
}

// balances shows a line of a family, its family, and a line by itself, in SQL and in Redis.
func (d *meterDemo) balances(ctx context.Context) error {
	i := d.parts.inspector()
	row := func(cells ...string) {
		fmt.Fprintln(d.tale.out, strings.TrimRight(fmt.Sprintf("          %-12s %14s %14s %14s %14s", cells[0], cells[1], cells[2], cells[3], cells[4]), " "))
	}
	same := true
	fmt.Fprintln(d.tale.out)
	row("", "granted", "used by events", "left by SQL", "left in Redis")
	for _, who := range []struct{ kind, id string }{{"line", d.traffic.line(0)}, {"family", "family-0"}, {"line", d.traffic.line(d.traffic.lines - 1)}} {
		s, err := statusOf(ctx, i, who.kind, who.id, 0)
		if err != nil {
			return err
		}
		of := func(a inspect.Amounts) int64 { return a.Individual + a.Shared }
		if who.kind == "line" {
			of = func(a inspect.Amounts) int64 { return a.Individual }
		}
		row(who.id, fmt.Sprint(of(s.Granted)), fmt.Sprint(of(s.Granted)-of(s.SQL.Left)), fmt.Sprint(of(s.SQL.Left)), fmt.Sprint(of(s.Redis.Left)))
		same = same && s.Redis.Left == s.SQL.Left
	}
	fmt.Fprintln(d.tale.out)
	d.tale.line("Balances in Redis are those that follow from SQL", fmt.Sprintf("the same: %t", same), "the same: true")
	return nil
}

// lost empties Redis: nothing is decided until it was filled again.
func (d *meterDemo) lost(ctx context.Context) error {
	if err := d.redis.empty(ctx); err != nil {
		return err
	}
	printed, err := d.reprise(ctx, "show", "line", d.traffic.line(0))
	if err != nil {
		return err
	}
	fmt.Fprintln(d.tale.out)
	says := "something else"
	if strings.Contains(printed, "nothing is decided") && strings.Contains(printed, string(inspect.StoreLost)) {
		says = "store_lost"
	}
	d.tale.line("Redis is emptied: nothing is decided, and it is said why", says, "store_lost")
	if _, err := d.reprise(ctx, "hydrate", "--who", "ann", "--why", "Redis was emptied"); err != nil {
		return err
	}
	fmt.Fprintln(d.tale.out)
	return nil
}

// again sends everything once more to the Redis that was filled from SQL.
func (d *meterDemo) again(ctx context.Context) error {
	for from := 0; from < len(d.sent); from += trafficBatch {
		if err := d.traffic.deliver(ctx, d.sent[from:min(from+trafficBatch, len(d.sent))]); err != nil {
			return err
		}
	}
	if err := d.once(ctx, "All events are sent again, to a Redis that knows none of them"); err != nil {
		return err
	}
	return d.audit(ctx)
}
