package meterredis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

//go:embed script/correct.lua
var correctLua string

// ErrChanged is the error of a correction of a key that is not any more as it was judged. Nothing was changed.
var ErrChanged = errors.New("the key has changed since it was judged")

// ErrUnreadable is the error of a key that Redis does not give out.
var ErrUnreadable = errors.New("the key cannot be read")

// ErrMayNotRestore is the error of a user who may not put back what was saved.
var ErrMayNotRestore = errors.New("this user of Redis may not call RESTORE")

// MayRestore returns nil if this user may put back what was saved, and [ErrMayNotRestore] if not. It changes nothing: what it asks to be
// restored is no dump.
func (m *Meter) MayRestore(ctx context.Context) error {
	key := m.names.prefix + "restore:{0000}"
	err := m.client.Do(ctx, m.client.B().Restore().Key(key).Ttl(0).SerializedValue("no dump").Build()).Error()
	_, answered := rueidis.IsRedisErr(err)
	switch {
	case Refused(err):
		return fmt.Errorf("%w: %w", ErrMayNotRestore, err)
	case answered || err == nil: // it looked at the dump
		return nil
	}
	return store.Unavailable(fmt.Errorf("ask whether this user may RESTORE: %w", err))
}

// Saved is a key as it was at one instant, whatever its type: what can be put back.
type Saved struct {
	// Dump is what the server's DUMP says of it; empty if it is not there.
	Dump []byte
	// Expires is when it expires, in ms since 1970; 0 is never.
	Expires int64
}

// Correction is a change of one key, under the condition that it is as it was judged.
type Correction struct {
	Key string
	// Seen is what the key held.
	Seen Saved
	// Version is the key that counts the changes of the key's owner, and Changes what it held; without a name it does not matter.
	Version string
	Changes Saved
	// Epoch is that of the fence, as digits; empty asks about none.
	Epoch string
	// Content is what the key is to hold, of a stream only when it is to expire, or Restore what was saved of it.
	Content Content
	Restore *Saved
}

// Save reads a key as it is, and the key that counts the changes of its owner, if there is one, at the same instant.
func (m *Meter) Save(ctx context.Context, key, version string) (seen, changes Saved, err error) {
	b := m.client.B()
	other := version
	if other == "" {
		other = key
	}
	replies := m.client.DoMulti(ctx, b.Multi().Build(), b.Time().Build(), b.Dump().Key(key).Build(), askExpiry(b, key, m.timeLeft), b.Dump().Key(other).Build(), b.Exec().Build())
	all, err := replies[len(replies)-1].ToArray()
	if err != nil {
		return seen, changes, fmt.Errorf("%s: %w", key, refused(replies, err))
	}
	if len(all) != 4 {
		return seen, changes, store.Unavailable(fmt.Errorf("read %s: it came to %d answers", key, len(all)))
	}
	now, err := instantOf(all[0])
	if err != nil {
		return seen, changes, store.Unavailable(err)
	}
	if seen.Dump, err = dumped(key, all[1]); err != nil {
		return seen, changes, err
	}
	if seen.Expires, err = expiryOf(all[2], m.timeLeft, now); err != nil {
		return seen, changes, fmt.Errorf("%s: %w: %w", key, ErrUnreadable, err)
	}
	changes.Dump, err = dumped(other, all[3])
	return seen, changes, err
}

func dumped(key string, message rueidis.RedisMessage) ([]byte, error) {
	text, err := message.ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return nil, fmt.Errorf("%s: %w: %w", key, ErrUnreadable, err)
	}
	return []byte(text), nil
}

// NoBucket is in the place of a bucket for a key whose name has none, so that nothing of the meter is in it.
const NoBucket = -1

// Correct changes a key of a bucket. [ErrChanged] if it is not as it was judged, [ErrFenced] if somebody else restores by now, and
// [store.ErrLost] if the bucket has another generation; nothing was changed then.
func (m *Meter) Correct(ctx context.Context, bucket int, c Correction) error {
	g, generation, fence := "", c.Key, c.Key
	if bucket != NoBucket {
		bytes, key := m.store.BucketGeneration(bucket)
		g, generation, fence = rueidis.BinaryString(bytes[:]), key, m.names.fence(fmt.Sprintf("{%04d}", bucket))
	}
	version, changes := c.Version, rueidis.BinaryString(c.Changes.Dump)
	if version == "" {
		version, changes = c.Key, "-"
	}
	args := []string{g, c.Epoch, rueidis.BinaryString(c.Seen.Dump), changes}
	switch {
	case c.Restore != nil && len(c.Restore.Dump) > 0:
		args = append(args, number(c.Restore.Expires), "dump", rueidis.BinaryString(c.Restore.Dump))
	case c.Restore != nil || c.Content.Type == TypeNone:
		args = append(args, "0", "none")
	case c.Content.Type == TypeHash:
		args = append(args, expiry(c.Content.Expires), "hash")
		for name, value := range c.Content.Fields {
			args = append(args, name, value)
		}
	case c.Content.Type == TypeStream: // nobody knows what should be in it
		args = append(args, expiry(c.Content.Expires), "kept")
	default:
		args = append(args, expiry(c.Content.Expires), "string", c.Content.Text)
	}
	keys := []string{c.Key, generation, fence, version}
	n, err := m.correct.Exec(ctx, m.client, keys, args).AsInt64()
	switch {
	case err != nil:
		return failed("correct "+c.Key, err)
	case n == -3:
		return fmt.Errorf("%w: the bucket of %s has another generation than this process knows, or none", store.ErrLost, c.Key)
	case n == -2:
		return fmt.Errorf("%s: %w", c.Key, ErrFenced)
	case n == 0:
		return fmt.Errorf("%s: %w", c.Key, ErrChanged)
	}
	return nil
}

// BucketOf returns the number of the bucket that the name of a key says; ok is false if it says none.
func (n Name) BucketOf() (bucket int, ok bool) {
	const form = "{0000}"
	if len(n.Bucket) != len(form) || n.Bucket[0] != '{' || n.Bucket[len(form)-1] != '}' {
		return 0, false
	}
	for _, digit := range []byte(n.Bucket[1 : len(form)-1]) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		bucket = bucket*10 + int(digit-'0')
	}
	return bucket, bucket < redisstore.Buckets
}

// UnitBucket returns the bucket of the unit of a line or a family, as it stands in names.
func UnitBucket(line, family string) string { return unitOf(line, family).bucket }

// PolicyContents returns what is to be in each bucket of the global policies: each key with its content, in the order of their numbers.
func (m *Meter) PolicyContents(bucket string, set meter.PolicySet) (keys []string, contents []Content) {
	for _, id := range meter.AllPolicies() {
		fields := map[string]string{}
		for _, f := range set.Get(id).Fields() {
			fields[f.Name] = f.Value
		}
		if id == meter.Gate {
			fields[fieldStamp] = globalStamp(set)
		}
		keys, contents = append(keys, m.names.policy(bucket, id)), append(contents, Hash(fields, time.Time{}))
	}
	return keys, contents
}
