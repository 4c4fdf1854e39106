package meterredis

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
)

// Content is what a key holds, with its type and its expiry: all that there is to compare of it.
type Content struct {
	// Type is [TypeNone], [TypeString] or [TypeHash]; any other is not one of the meter's keys, and nothing more is known then.
	Type   string
	Text   string            // of a string
	Fields map[string]string // of a hash
	// Expires is when the key expires, by the server's clock, to about a millisecond; zero is never.
	Expires time.Time
}

// The types of the meter's keys. A key that is not there has none.
const (
	TypeNone   = "none"
	TypeString = "string"
	TypeHash   = "hash"
	TypeStream = "stream"
	typeOther  = "of another type"
)

// Text returns the content of a key that holds a text, and is not there if it is empty.
func Text(text string, expires time.Time) Content {
	if text == "" {
		return Content{Type: TypeNone}
	}
	return Content{Type: TypeString, Text: text, Expires: expires}
}

// Hash returns the content of a key that holds fields, and is not there if there are none.
func Hash(fields map[string]string, expires time.Time) Content {
	if len(fields) == 0 {
		return Content{Type: TypeNone}
	}
	return Content{Type: TypeHash, Fields: fields, Expires: expires}
}

// expiryTolerance is by how much two expiries may differ that are the same.
const expiryTolerance = time.Second

// Same reports whether two contents have the same type, value and expiry.
func (c Content) Same(o Content) bool { return c.SameValue(o) && c.SameExpiry(o) }

// SameValue is [Content.Same] without the expiry.
func (c Content) SameValue(o Content) bool {
	return c.Type == o.Type && c.Type != typeOther && c.Text == o.Text && maps.Equal(c.Fields, o.Fields)
}

// SameExpiry reports whether two keys expire at the same time.
func (c Content) SameExpiry(o Content) bool {
	if c.Expires.IsZero() || o.Expires.IsZero() {
		return c.Expires.IsZero() == o.Expires.IsZero()
	}
	return c.Expires.Sub(o.Expires).Abs() <= expiryTolerance
}

// String writes a content for a person, fields in their order.
func (c Content) String() string {
	text := c.Type
	switch c.Type {
	case TypeNone:
		return "not there"
	case TypeString:
		text = fmt.Sprintf("%q", c.Text)
	case TypeHash:
		var parts []string
		for _, field := range slices.Sorted(maps.Keys(c.Fields)) {
			parts = append(parts, fmt.Sprintf("%s=%q", field, c.Fields[field]))
		}
		text = "{" + strings.Join(parts, " ") + "}"
	}
	if c.Expires.IsZero() {
		return text + ", never expires"
	}
	return text + ", expires " + c.Expires.UTC().Format("2006-01-02T15:04:05.000Z")
}

// Wanted is a key that is to be looked at, and the type that it should have: of another one no more is read than that.
type Wanted struct{ Key, Type string }

// Contents reads keys of one bucket at one instant. Of those of type none it is asked together whether any is there, and only then each
// is looked at. What a key is that has not the type that is wanted is in its type alone. A server older than Redis 7 does not say when a key
// expires, but how long it stays: that is known as closely as the server's time is when it was read, and where the server has stood still
// meanwhile it is asked again.
func (m *Meter) Contents(ctx context.Context, wanted []Wanted) (found map[string]Content, err error) {
	for attempt := 1; ; attempt++ {
		found, took, err := m.contents(ctx, wanted)
		if err != nil || took < expiryTolerance/2 || attempt == readAttempts {
			return found, err
		}
	}
}

// readAttempts is how often keys are read of a server that stands still all the time.
const readAttempts = 5

// contents reads once, and says how long that took by the clock of a server where that matters.
func (m *Meter) contents(ctx context.Context, wanted []Wanted) (found map[string]Content, took time.Duration, err error) {
	found = make(map[string]Content, len(wanted))
	there, absent := make([]Wanted, 0, len(wanted)), []string(nil)
	for _, w := range wanted {
		if w.Type != TypeNone {
			there = append(there, w)
			continue
		}
		absent, found[w.Key] = append(absent, w.Key), Content{Type: TypeNone}
	}
	answers, now, took, err := m.ask(ctx, there, absent)
	if err != nil {
		return nil, 0, err
	}
	for n, w := range there {
		c, err := contentOf(w, answers[2*n])
		if err == nil {
			c.Expires, err = expiresOf(answers[2*n+1], m.timeLeft, now)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w: %w", w.Key, ErrUnreadable, err)
		}
		found[w.Key] = c
	}
	surprises := int64(0)
	for _, answer := range answers[2*len(there):] {
		n, err := answer.AsInt64()
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
		surprises += n
	}
	if surprises == 0 {
		return found, took, nil
	}
	return found, took, m.unexpected(ctx, absent, found)
}

// existsAtOnce is how many keys are asked about together.
const existsAtOnce = 100

// ask asks in one transaction for the keys that may be there, two answers each, what they hold and when they expire, and then how many of the
// others are there. Where a server only says how long keys stay it returns the server's time, too, and how long it took from before the first
// command to after the last.
func (m *Meter) ask(ctx context.Context, there []Wanted, absent []string) (answers []rueidis.RedisMessage, now time.Time, took time.Duration, err error) {
	b := m.client.B()
	commands := make(rueidis.Commands, 0, 2*len(there)+len(absent)/existsAtOnce+5)
	if m.timeLeft {
		commands = append(commands, b.Time().Build())
	}
	commands = append(commands, b.Multi().Build())
	for _, w := range there {
		if w.Type == TypeHash {
			commands = append(commands, b.Hgetall().Key(w.Key).Build(), askExpiry(b, w.Key, m.timeLeft))
		} else {
			commands = append(commands, b.Get().Key(w.Key).Build(), askExpiry(b, w.Key, m.timeLeft))
		}
	}
	for part := range slices.Chunk(absent, existsAtOnce) {
		commands = append(commands, b.Exists().Key(part...).Build())
	}
	if m.timeLeft {
		commands = append(commands, b.Time().Build())
	}
	replies := m.client.DoMulti(ctx, append(commands, b.Exec().Build())...)
	if answers, err = replies[len(replies)-1].ToArray(); err != nil {
		return nil, now, 0, refused(replies, err)
	}
	if !m.timeLeft {
		return answers, now, 0, nil
	}
	before, err := replies[0].ToMessage()
	if err != nil {
		return nil, now, 0, store.Unavailable(fmt.Errorf("read keys: %w", err))
	}
	began, err := instantOf(before)
	if err == nil {
		now, err = instantOf(answers[len(answers)-1])
	}
	if err != nil {
		return nil, now, 0, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return answers[:len(answers)-1], now, now.Sub(began), nil
}

// refused is the error of a transaction that was not done: what was said of the first command that was refused says more than the end. A
// right that is missing does not come back by itself.
func refused(replies []rueidis.RedisResult, err error) error {
	for _, r := range replies[:len(replies)-1] {
		if cause := r.Error(); cause != nil {
			err = cause
			break
		}
	}
	if Refused(err) {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return store.Unavailable(fmt.Errorf("read keys: %w", err))
}

// unexpected looks at keys of which some are there that should not be. They are read after the others: whoever corrects one compares it again.
func (m *Meter) unexpected(ctx context.Context, keys []string, found map[string]Content) error {
	for _, key := range keys {
		content, err := m.Content(ctx, key)
		if err != nil {
			return err
		}
		found[key] = content
	}
	return nil
}

// Content reads a key of whatever type.
func (m *Meter) Content(ctx context.Context, key string) (Content, error) {
	kind, err := m.client.Do(ctx, m.client.B().Type().Key(key).Build()).ToString()
	if err != nil {
		return Content{}, store.Unavailable(fmt.Errorf("read %s: %w", key, err))
	}
	if kind == TypeNone {
		return Content{Type: kind}, nil
	}
	if kind != TypeString && kind != TypeHash {
		seen, _, err := m.Save(ctx, key, "")
		c := Content{Type: kind}
		if seen.Expires > 0 {
			c.Expires = time.UnixMilli(seen.Expires)
		}
		return c, err
	}
	found, err := m.Contents(ctx, []Wanted{{key, kind}})
	return found[key], err
}

func instantOf(message rueidis.RedisMessage) (time.Time, error) {
	parts, err := message.AsIntSlice()
	if err != nil || len(parts) != 2 {
		return time.Time{}, errors.Join(err, errors.New("the server does not say what time it is"))
	}
	return time.Unix(parts[0], parts[1]*1000), nil
}

// askExpiry asks when a key expires, or how long it stays.
func askExpiry(b rueidis.Builder, key string, timeLeft bool) rueidis.Completed {
	if timeLeft {
		return b.Pttl().Key(key).Build()
	}
	return b.Pexpiretime().Key(key).Build()
}

// expiryOf returns the answer in ms since 1970; 0 is never.
func expiryOf(message rueidis.RedisMessage, timeLeft bool, now time.Time) (int64, error) {
	n, err := message.AsInt64()
	switch {
	case err != nil || n < 0:
		return 0, err
	case timeLeft:
		return now.UnixMilli() + n, nil
	}
	return n, nil
}

// expiresOf returns the answer as a time, zero for never.
func expiresOf(message rueidis.RedisMessage, timeLeft bool, now time.Time) (at time.Time, err error) {
	n, err := expiryOf(message, timeLeft, now)
	if err != nil || n == 0 {
		return at, err
	}
	return time.UnixMilli(n), nil
}

// contentOf reads what a key holds, without its expiry.
func contentOf(w Wanted, message rueidis.RedisMessage) (Content, error) {
	err := message.Error()
	switch {
	case rueidis.IsRedisNil(err):
		return Content{Type: TypeNone}, nil
	case err != nil && strings.HasPrefix(err.Error(), "WRONGTYPE"):
		return Content{Type: typeOther}, nil
	case err != nil:
		return Content{}, err
	case w.Type == TypeHash:
		fields, err := message.AsStrMap()
		return Hash(fields, time.Time{}), err
	}
	text, err := message.ToString()
	return Content{Type: TypeString, Text: text}, err
}
