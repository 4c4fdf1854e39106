package inspect

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Globals compares what every bucket has of its own: the global policies with the gate, the fence, and the streams. Policies are in SQL
// first: what differs is looked at until patience ends.
func (i *Inspector) Globals(ctx context.Context, patience time.Duration) (all []Difference, err error) {
	if err := i.opened(); err != nil {
		return nil, err
	}
	until := time.Now().Add(patience)
	for {
		if all, err = i.globals(ctx); err != nil || len(all) == 0 || time.Now().After(until) {
			return all, err
		}
		timer := time.NewTimer(lookAgain)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return all, context.Cause(ctx)
		}
	}
}

func (i *Inspector) globals(ctx context.Context) (all []Difference, err error) {
	policies, err := i.Ledger.Policies(ctx, nil)
	if err != nil {
		return nil, err
	}
	buckets := meterredis.AllBuckets()
	found := make([][]Difference, len(buckets))
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(unitsAtOnce)
	for n, bucket := range buckets {
		group.Go(func() (err error) {
			found[n], err = i.bucket(inner, bucket, policies.Global)
			return err
		})
	}
	err = group.Wait()
	return slices.Concat(found...), err
}

// bucket compares what a bucket has of its own.
func (i *Inspector) bucket(ctx context.Context, bucket string, policies meter.PolicySet) (all []Difference, err error) {
	keys, contents := i.Meter.PolicyContents(bucket, policies)
	fence := i.Meter.FenceKey(bucket)
	var ask []meterredis.Wanted
	for _, key := range keys {
		ask = append(ask, meterredis.Wanted{Key: key, Type: meterredis.TypeHash})
	}
	is, err := i.Meter.Contents(ctx, append(ask, meterredis.Wanted{Key: fence, Type: meterredis.TypeString}))
	if err != nil {
		return nil, err
	}
	for n, key := range keys {
		if d := differenceOf(key, is[key], contents[n], ""); d != nil {
			all = append(all, *d)
		}
	}
	if d := differenceOf(fence, is[fence], i.fence(is[fence]), ""); d != nil {
		all = append(all, *d)
	}
	if !meterredis.ShardBucket(bucket) {
		return all, nil
	}
	for _, key := range i.Meter.StreamKeys(bucket) {
		d, err := i.stream(ctx, key)
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, *d)
		}
	}
	return all, nil
}

// fence is what the fence of a bucket should be: that of the session; outside of one any number, or none. One that makes no sense is to
// be removed: who has none is refused.
func (i *Inspector) fence(is meterredis.Content) meterredis.Content {
	if i.Epoch > 0 {
		return meterredis.Text(digits(i.Epoch), time.Time{})
	}
	if n, err := strconv.ParseInt(is.Text, 10, 64); err != nil || n <= 0 || is.Text != digits(n) {
		return meterredis.Content{Type: meterredis.TypeNone}
	}
	return meterredis.Text(is.Text, time.Time{})
}

// stream compares the type and the expiry of a stream. What is in it SQL does not know.
func (i *Inspector) stream(ctx context.Context, key string) (*Difference, error) {
	is, err := i.Meter.Content(ctx, key)
	if err != nil || is.Type == meterredis.TypeNone {
		return nil, err
	}
	want := meterredis.Content{Type: meterredis.TypeNone}
	if is.Type == meterredis.TypeStream {
		want = meterredis.Content{Type: meterredis.TypeStream}
	}
	return differenceOf(key, is, want, ""), nil
}

// Judgement is what is to be said of one key.
type Judgement struct {
	// Found is what differs; nil if nothing does.
	Found *Difference
	// Unflushed says that nothing can be said at the moment, and Hopeless that the key cannot be put right alone, with the reason.
	Unflushed bool
	Hopeless  string
}

// Judge judges one key as it is now, whatever found it.
func (i *Inspector) Judge(ctx context.Context, key string) (j Judgement, err error) {
	name, ours := i.Meter.Parse(key)
	switch {
	case !ours:
		return Judgement{Hopeless: "it is not a key of the meter"}, nil
	case name.Policy > 0, name.Kind == meterredis.KindFence, name.Kind == meterredis.KindIntake, name.Kind == meterredis.KindDead:
		return i.judgeGlobal(ctx, key, name)
	}
	tag, known, err := i.tag(ctx, name)
	if err != nil {
		return j, err
	}
	if known {
		now, err := i.Ledger.Now(ctx)
		if err != nil {
			return j, err
		}
		found, ok, err := i.Look(ctx, now, tag)
		if err != nil || !ok {
			return Judgement{Unflushed: true}, err
		}
		for _, d := range found {
			if d.Key == key {
				return Judgement{Found: &d}, nil
			}
		}
		if n := slices.IndexFunc(found, func(d Difference) bool { return d.Key == "" }); n >= 0 {
			return Judgement{Hopeless: found[n].String()}, nil
		}
	}
	extra, err := i.Unexpected(ctx, []string{key})
	if err == nil && len(extra) > 0 {
		j.Found = &extra[0]
	}
	return j, err
}

func (i *Inspector) judgeGlobal(ctx context.Context, key string, name meterredis.Name) (j Judgement, err error) {
	policies, err := i.Ledger.Policies(ctx, nil)
	if err != nil {
		return j, err
	}
	found, err := i.bucket(ctx, name.Bucket, policies.Global)
	for _, d := range found {
		if d.Key == key {
			j.Found = &d
		}
	}
	if err == nil && j.Found == nil {
		found, err = i.Unexpected(ctx, []string{key})
		if err == nil && len(found) > 0 {
			j.Found = &found[0]
		}
	}
	return j, err
}

// Counter returns the key that counts the changes of the owner of a key in the same bucket, if SQL knows the owner; empty if there is none.
func (i *Inspector) Counter(ctx context.Context, key string) (string, error) {
	name, _ := i.Meter.Parse(key)
	_, known, err := i.tag(ctx, name)
	switch {
	case err != nil || !known:
		return "", err
	case name.Kind == meterredis.KindUnit, name.Kind == meterredis.KindPolicy, name.Kind == meterredis.KindVersion:
		return "", nil
	}
	return counterKey(i, name), nil
}

// tag is the name of the unit whose key it is, if SQL knows it.
func (i *Inspector) tag(ctx context.Context, n meterredis.Name) (tag string, known bool, err error) {
	s := &sweeping{}
	if s.lines, err = i.Ledger.Lines(ctx, []string{n.Line}); err != nil {
		return "", false, err
	}
	if s.families, err = i.Ledger.Families(ctx, []string{n.Family}); err != nil {
		return "", false, err
	}
	tag, known = s.tagOf(n)
	return tag, known, nil
}

// counterKey is the key that counts the changes of the owner of a key, in the bucket of the key: no event changes one in another bucket than its
// owner's, and whoever brings the owner there writes that. A key of no bucket has none.
func counterKey(i *Inspector, n meterredis.Name) string {
	if _, ok := n.BucketOf(); !ok {
		return ""
	}
	return i.Meter.CounterOf(n)
}

// String says what is wrong with a key, for a person.
func (d Difference) String() string {
	if d.Kind == "" {
		return d.Difference.String()
	}
	return fmt.Sprintf("%s: %s", d.Kind, d.Difference.String())
}
