package meterredis

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// State reads what Redis holds of a line, for one of its apps on a day of a month, at one instant.
func (m *Meter) State(ctx context.Context, line, family, app string, day meter.Day, month meter.Month) (meter.State, error) {
	u := unitOf(line, family)
	b := m.client.B()
	replies := m.client.DoMulti(ctx, b.Multi().Build(),
		b.Hmget().Key(m.names.unit(u)).Field(fieldGeneration, fieldPhase, fieldOpen, openedField(month)).Build(),
		b.Mget().Key(m.names.lineVersion(u, line), m.names.dailyTotal(u, line, day)).Build(),
		b.Hmget().Key(m.names.individual(u, line, month)).Field(fieldAmount, fieldQoS).Build(),
		b.Hmget().Key(m.names.dailyApp(u, line, day)).Field(appField(app, "individual"), appField(app, "shared"), appField(app, "qos")).Build(),
		b.Hmget().Key(m.names.dailyShared(u, line, day)).Field(fieldUsage, fieldFamily).Build(),
		b.Hmget().Key(m.names.monthlyShared(u, line, month)).Field(fieldUsage, fieldFamily).Build(),
		b.Mget().Key(m.names.familyVersion(u, family)).Build(),
		b.Hmget().Key(m.names.shared(u, family, month)).Field(fieldAmount).Build(),
		b.Exec().Build())
	all, err := replies[len(replies)-1].ToArray()
	if err != nil {
		return meter.State{}, store.Unavailable(fmt.Errorf("read line %s: %w", line, err))
	}
	r := reader{}
	unit, texts, own, apps := r.texts(all[0]), r.texts(all[1]), r.texts(all[2]), r.texts(all[3])
	daily, monthly, version, shared := r.texts(all[4]), r.texts(all[5]), r.texts(all[6]), r.texts(all[7])
	s := meter.State{
		Line: line, Family: family, App: app, Day: day, Month: month, Generation: m.generationOf(u),
		Unit: meter.Unit{
			Generation: meter.Generation(unit[0].text), Phase: meter.Phase(r.number(unit[1])), Open: unit[2].text == "1", MonthOpen: unit[3].there,
		},
		Known: texts[0].there && texts[0].text != versionMoved, Moved: texts[0].text == versionMoved,
		Individual:  meter.Allowance{Granted: own[0].there && own[1].there, Amount: r.number(own[0]), QoS: r.number(own[1])},
		Shared:      meter.SharedAllowance{Granted: shared[0].there, Amount: r.number(shared[0])},
		DailyTotal:  r.number(texts[1]),
		DailyApp:    meter.AppUsage{Individual: r.number(apps[0]), Shared: r.number(apps[1]), QoS: r.number(apps[2])},
		DailyShared: meter.SharedUsage{Amount: r.number(daily[0]), Family: daily[1].text}, MonthlyShared: meter.SharedUsage{Amount: r.number(monthly[0]), Family: monthly[1].text},
		FamilyVersion: r.number(version[0]),
	}
	if s.Known {
		s.LineVersion = r.number(texts[0])
	}
	return s, r.err
}

// reader reads replies, and remembers the first that cannot be.
type reader struct{ err error }

// value is a text that may not be there.
type value struct {
	text  string
	there bool
}

func (r *reader) texts(message rueidis.RedisMessage) []value {
	array, err := message.ToArray()
	if err != nil {
		r.fail(err)
		return make([]value, 4) // as many as are asked for at most
	}
	values := make([]value, len(array))
	for i := range array {
		text, err := array[i].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			r.fail(err)
		}
		values[i] = value{text, err == nil}
	}
	return values
}

func (r *reader) number(v value) int64 {
	if !v.there {
		return 0
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil {
		r.fail(fmt.Errorf("%q is no amount: %w", v.text, err))
	}
	return n
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = fmt.Errorf("what Redis holds cannot be read: compare with `reprise meter audit`: %w", err)
	}
}

// entry is a key of a state with what is to be in it. Neither fields nor text: it is not to be there.
type entry struct {
	key    string
	fields []meter.Field
	text   string
}

// entries are the keys of a state, each with all that the state says of it.
func (n names) entries(s meter.State) []entry {
	u := unitOf(s.Line, s.Family)
	return []entry{
		n.versionEntry(u, s),
		{key: n.individual(u, s.Line, s.Month), fields: when(s.Individual.Granted, meter.Field{Name: fieldAmount, Value: number(s.Individual.Amount)}, meter.Field{Name: fieldQoS, Value: number(s.Individual.QoS)})},
		{key: n.dailyTotal(u, s.Line, s.Day), text: counter(s.DailyTotal)},
		{key: n.dailyApp(u, s.Line, s.Day), fields: counters(s.App, s.DailyApp)},
		{key: n.dailyShared(u, s.Line, s.Day), fields: usage(s.DailyShared)},
		{key: n.monthlyShared(u, s.Line, s.Month), fields: usage(s.MonthlyShared)},
		{key: n.familyVersion(u, s.Family), text: whenText(s.Family != "", number(s.FamilyVersion))},
		{key: n.shared(u, s.Family, s.Month), fields: when(s.Shared.Granted, meter.Field{Name: fieldAmount, Value: number(s.Shared.Amount)})},
	}
}

func (n names) versionEntry(u unit, s meter.State) entry {
	e := entry{key: n.lineVersion(u, s.Line)}
	switch {
	case s.Moved:
		e.text = versionMoved
	case s.Known:
		e.text = number(s.LineVersion)
	}
	return e
}

func when(there bool, fields ...meter.Field) []meter.Field {
	if !there {
		return nil
	}
	return fields
}

func whenText(there bool, text string) string {
	if !there {
		return ""
	}
	return text
}

// counter writes a counter, of which 0 is not there.
func counter(n int64) string { return whenText(n != 0, number(n)) }

func counters(app string, u meter.AppUsage) (fields []meter.Field) {
	for _, part := range []struct {
		name string
		n    int64
	}{{"individual", u.Individual}, {"shared", u.Shared}, {"qos", u.QoS}} {
		if part.n != 0 {
			fields = append(fields, meter.Field{Name: appField(app, part.name), Value: number(part.n)})
		}
	}
	return fields
}

func usage(u meter.SharedUsage) []meter.Field {
	if u == (meter.SharedUsage{}) {
		return nil
	}
	fields := []meter.Field{{Name: fieldUsage, Value: number(u.Amount)}}
	if u.Family != "" {
		fields = append(fields, meter.Field{Name: fieldFamily, Value: u.Family})
	}
	return fields
}
