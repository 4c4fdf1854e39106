package config

import (
	"slices"
	"time"
)

// Meter is a configuration of `reprise meter` without mistakes.
type Meter struct {
	Redis, Ledger        string // DSNs
	Listen               string // address, host may be empty
	TokenFile            string // empty: none
	Zone                 *time.Location
	Anchor               int64
	Retention, Tolerance time.Duration
	KeepRows             time.Duration // 0: for ever
	Batch, StreamLimit   int64
	TakeOver             time.Duration
	Durable              bool
	MaxBody              int64
	MaxWait              time.Duration
	DrainTimeout         time.Duration
	Log                  Log
	// Said are the keys that have a value from somewhere, and not their default alone.
	Said map[string]bool
}

// MeterKeys returns every key of `reprise meter`.
func MeterKeys() []Key {
	var keys []Key
	for _, e := range meterKeys() {
		keys = append(keys, e.Key)
	}
	return keys
}

// LoadMeter reads a configuration of `reprise meter` in which some keys must have a value. Its error is of type [Mistakes].
func LoadMeter(from Sources, needed ...string) (*Meter, error) {
	l := &loader{keys: MeterKeys(), file: from.File}
	if from.File != "" {
		for _, p := range l.parse(from) {
			l.take(p, "", func(Key) bool { return true }, "meter")
		}
	}
	l.readAbove(from)
	config := &Meter{Said: map[string]bool{}}
	for name := range l.values {
		config.Said[name] = true
	}
	places := assign(l, config, meterKeys(), l.values, nil)
	for _, k := range l.keys {
		if _, given := l.values[k.Name]; !given && !l.unread && slices.Contains(needed, k.Name) {
			l.refuse(Place{Source: from.File}, "", "no %s; say it with --%s, %s, or `%s:` in the file", k.Name, k.FlagName(), k.Variable(), k.Name)
		}
	}
	if !l.unread {
		checkMeter(l, config, places)
	}
	if err := l.found(); err != nil {
		return nil, err
	}
	return config, nil
}
