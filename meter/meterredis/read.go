package meterredis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
)

// Observed is what Redis holds of a unit, all of it at one instant.
type Observed struct {
	// Bucket is the generation of the unit's bucket as this process knows it, and Unit what the unit says of itself, of no month.
	Bucket meter.Generation
	Unit   meter.Unit
	// Gate says that policy 8 is open in the bucket, and Policies that the others are there.
	Gate, Policies bool
	// Book has balances, counters, versions and open months. Its members are the lines that are known here.
	Book *meter.Book
	// Moved are lines that were here and are in another unit now.
	Moved map[string]bool
}

// Observe reads a unit: its lines of some days and months.
func (m *Meter) Observe(ctx context.Context, unit Members, days []meter.Day, months []meter.Month) (Observed, error) {
	w := m.writing(unit)
	o := &observing{names: m.names, unit: w.unit, reader: &reader{}, builder: m.client.B(), seen: Observed{
		Bucket: m.generationOf(w.unit), Book: meter.NewBook(m.generationOf(w.unit), map[string]string{}), Moved: map[string]bool{},
	}}
	o.ask(o.builder.Multi().Build(), nil)
	o.readUnit(unit.Family, months)
	for _, line := range unit.Lines {
		o.readLine(line, unit.Family, days, months)
	}
	o.ask(o.builder.Exec().Build(), nil)
	replies := m.client.DoMulti(ctx, o.commands...)
	all, err := replies[len(replies)-1].ToArray()
	if err != nil {
		return Observed{}, store.Unavailable(fmt.Errorf("read the unit %s: %w", w.unit.tag, err))
	}
	for i, message := range all {
		o.take[i+1](message) // the first is MULTI
	}
	return o.seen, o.reader.err
}

// observing collects what is asked, and what is to be done with each answer.
type observing struct {
	names    names
	unit     unit
	reader   *reader
	builder  rueidis.Builder
	commands rueidis.Commands
	take     []func(rueidis.RedisMessage)
	seen     Observed
}

func (o *observing) ask(command rueidis.Completed, take func(rueidis.RedisMessage)) {
	o.commands = append(o.commands, command)
	o.take = append(o.take, take)
}

func (o *observing) hash(key string, take func(map[string]string)) {
	o.ask(o.builder.Hgetall().Key(key).Build(), func(message rueidis.RedisMessage) {
		hash, err := message.AsStrMap()
		if err != nil {
			o.reader.fail(fmt.Errorf("%s: %w", key, err))
		}
		if len(hash) > 0 {
			take(hash)
		}
	})
}

func (o *observing) text(key string, take func(string)) {
	o.ask(o.builder.Get().Key(key).Build(), func(message rueidis.RedisMessage) {
		text, err := message.ToString()
		if err == nil {
			take(text)
		} else if !rueidis.IsRedisNil(err) {
			o.reader.fail(fmt.Errorf("%s: %w", key, err))
		}
	})
}

func (o *observing) number(hash map[string]string, field string) int64 {
	text, there := hash[field]
	return o.reader.number(value{text, there})
}

func (o *observing) readUnit(family string, months []meter.Month) {
	o.hash(o.names.policy(o.unit.bucket, meter.Gate), func(hash map[string]string) {
		o.seen.Gate, o.seen.Policies = hash[fieldOpen] == "yes", hash[fieldStamp] != ""
	})
	o.hash(o.names.unit(o.unit), func(hash map[string]string) {
		o.seen.Unit = meter.Unit{Generation: meter.Generation(hash[fieldGeneration]), Phase: meter.Phase(o.number(hash, fieldPhase)), Open: hash[fieldOpen] == "1"}
		for _, month := range months {
			if _, opened := hash[openedField(month)]; opened {
				o.seen.Book.Opened[meter.MonthKey{Owner: o.unit.tag, Month: month}] = true
			}
		}
	})
	if family == "" {
		return
	}
	o.text(o.names.familyVersion(o.unit, family), func(text string) {
		o.seen.Book.FamilyVersions[family] = o.reader.number(value{text, true})
	})
	for _, month := range months {
		o.hash(o.names.shared(o.unit, family, month), func(hash map[string]string) {
			o.seen.Book.Shared[meter.MonthKey{Owner: family, Month: month}] = meter.SharedAllowance{Granted: true, Amount: o.number(hash, fieldAmount)}
		})
	}
}

func (o *observing) readLine(line, family string, days []meter.Day, months []meter.Month) {
	u, book := o.unit, o.seen.Book
	o.text(o.names.lineVersion(u, line), func(text string) {
		if text == versionMoved {
			o.seen.Moved[line] = true
			return
		}
		book.Members[line] = family
		book.LineVersions[line] = o.reader.number(value{text, true})
	})
	for _, month := range months {
		key := meter.MonthKey{Owner: line, Month: month}
		o.hash(o.names.individual(u, line, month), func(hash map[string]string) {
			book.Individual[key] = meter.Allowance{Granted: true, Amount: o.number(hash, fieldAmount), QoS: o.number(hash, fieldQoS)}
		})
		o.hash(o.names.monthlyShared(u, line, month), func(hash map[string]string) { book.MonthlyShared[key] = o.usage(hash) })
	}
	for _, day := range days {
		key := meter.DayKey{Line: line, Day: day}
		o.text(o.names.dailyTotal(u, line, day), func(text string) { book.DailyTotal[key] = o.reader.number(value{text, true}) })
		o.hash(o.names.dailyShared(u, line, day), func(hash map[string]string) { book.DailyShared[key] = o.usage(hash) })
		o.hash(o.names.dailyApp(u, line, day), func(hash map[string]string) { o.apps(key, hash) })
	}
}

func (o *observing) usage(hash map[string]string) meter.SharedUsage {
	return meter.SharedUsage{Amount: o.number(hash, fieldUsage), Family: hash[fieldFamily]}
}

// apps reads the fields app:<id>:<part>.
func (o *observing) apps(of meter.DayKey, hash map[string]string) {
	for field := range hash {
		name, ok := strings.CutPrefix(field, "app:")
		at := strings.LastIndexByte(name, ':')
		if !ok || at < 0 {
			o.reader.fail(errors.New("a field of a day's apps is called " + field))
			continue
		}
		key := meter.AppKey{Line: of.Line, Day: of.Day, App: name[:at]}
		usage, n := o.seen.Book.DailyApp[key], o.number(hash, field)
		switch name[at+1:] {
		case "individual":
			usage.Individual = n
		case "shared":
			usage.Shared = n
		case "qos":
			usage.QoS = n
		}
		o.seen.Book.DailyApp[key] = usage
	}
}
