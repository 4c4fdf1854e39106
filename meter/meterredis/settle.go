package meterredis

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// spare is for how long keys of a day or a month stay when no event can change them any more. A worker that was held back for
// longer than that with what it has decided has lost it; the stream is full long before.
const spare = 35 * 24 * time.Hour

// DayExpiry returns when the keys of a day expire: daily_total_usage, daily_app_usage and daily_shared_usage.
func (m *Meter) DayExpiry(d meter.Day) time.Time {
	_, end := m.calendar.DayBounds(d)
	return end.Add(m.horizon.Retention + m.horizon.Tolerance + spare)
}

// MonthExpiry returns when the keys of a month expire: remaining_indiv_amount, remaining_shared_amount and monthly_shared_usage.
func (m *Meter) MonthExpiry(month meter.Month) time.Time {
	_, end := m.calendar.MonthBounds(month)
	return end.Add(m.horizon.Retention + m.horizon.Tolerance + spare)
}

// Settle is told of rows that SQL has: what they have changed may expire from now on, each kind of key at its time, and
// their records are remembered for as long as the events could be delivered again. Until then nothing of them expires. It may
// be repeated.
func (m *Meter) Settle(ctx context.Context, rows []meter.Row) error {
	expiries, digests := map[string]time.Time{}, make([]machine.Digest, 0, len(rows))
	for _, row := range rows {
		u := unitOf(row.Event.Line, row.Result.Family)
		digests = append(digests, scopeOf(row.Event, u).Digest)
		m.expiries(u, row, expiries)
	}
	return m.settle(ctx, digests, expiries)
}

// settle lets expire the records of operations that SQL has, and what they have changed.
func (m *Meter) settle(ctx context.Context, digests []machine.Digest, expiries map[string]time.Time) error {
	b := m.client.B()
	var commands rueidis.Commands
	for key, at := range expiries {
		commands = append(commands, b.Pexpireat().Key(key).MillisecondsTimestamp(at.UnixMilli()).Build())
	}
	_, err := m.store.Release(ctx, digests, m.horizon.Remembered())
	for _, reply := range m.client.DoMulti(ctx, commands...) {
		if failure := reply.Error(); failure != nil {
			err = errors.Join(err, store.Unavailable(failure))
			break
		}
	}
	return err
}

// expiries adds the keys that a row has changed, with when they expire.
func (m *Meter) expiries(u unit, row meter.Row, all map[string]time.Time) {
	line, r := row.Event.Line, row.Result
	if r.Served() == 0 {
		return
	}
	day, month := m.DayExpiry(r.Day), m.MonthExpiry(r.Month)
	all[m.names.individual(u, line, r.Month)] = month
	all[m.names.dailyTotal(u, line, r.Day)] = day
	all[m.names.dailyApp(u, line, r.Day)] = day
	if r.Shared > 0 {
		all[m.names.dailyShared(u, line, r.Day)] = day
		all[m.names.monthlyShared(u, line, r.Month)] = month
		all[m.names.shared(u, r.Family, r.Month)] = month
	}
}
