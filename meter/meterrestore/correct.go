package meterrestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/reprise-dev/reprise/meter/inspect"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
	"github.com/reprise-dev/reprise/store"
)

// correctAttempts is how often a key is judged anew that has changed since it was judged.
const correctAttempts = 3

// Correct implements [restore.Plan]. What was found is judged again, and the key is written only where it, and the number of changes of
// its owner, are as they were when that began: so what was judged is what is replaced. Nothing is corrected of which something is under
// way.
func (p *Plan) Correct(ctx context.Context, f restore.Finding, fence restore.Fence, keep restore.Keep) (done restore.Correction, err error) {
	defer refused(&err)
	if f.Kind != kindKey {
		return restore.Correction{Outcome: f.Outcome}, nil
	}
	i, err := p.inspector(ctx, fence)
	if err != nil {
		return restore.Correction{}, err
	}
	for range correctAttempts {
		done, err = p.correct(ctx, i, f, fence, keep)
		if !errors.Is(err, meterredis.ErrChanged) {
			return done, fenced(err, meterredis.ErrFenced, store.ErrLost)
		}
	}
	return restore.Correction{Outcome: restore.Unflushed, Detail: f.Detail + "; it changes all the time"}, nil
}

// correct judges a key and puts it right.
func (p *Plan) correct(ctx context.Context, i *inspect.Inspector, f restore.Finding, fence restore.Fence, keep restore.Keep) (done restore.Correction, err error) {
	name, _ := i.Meter.Parse(f.Item)
	bucket, ok := name.BucketOf()
	if !ok { // a name that nobody gives
		bucket = meterredis.NoBucket
	}
	counter, err := i.Counter(ctx, f.Item)
	if err != nil {
		return done, err
	}
	seen, changes, err := i.Meter.Save(ctx, f.Item, counter)
	if err != nil {
		return done, err
	}
	j, err := i.Judge(ctx, f.Item)
	switch {
	case err != nil:
		return done, err
	case j.Unflushed:
		return restore.Correction{Outcome: restore.Unflushed, Detail: f.Detail + "; something of it is under way"}, nil
	case j.Hopeless != "":
		return restore.Correction{Outcome: f.Outcome, Detail: j.Hopeless}, nil
	case j.Found == nil:
		return restore.Correction{Outcome: restore.Corrected, Detail: f.Detail + "; it was right when it was to be corrected"}, keep(ctx, nil)
	}
	c := meterredis.Correction{Key: f.Item, Seen: seen, Version: counter, Changes: changes, Content: j.Found.Want}
	if fence.Epoch > 0 && ok {
		c.Epoch = strconv.FormatInt(fence.Epoch, 10)
	}
	old, err := json.Marshal(saved{Key: f.Item, Bucket: bucket, Seen: seen, Written: c.Content})
	if err != nil {
		return done, err
	}
	if err := keep(ctx, old); err != nil {
		return done, err
	}
	if err := i.Meter.Correct(ctx, bucket, c); err != nil {
		return done, err
	}
	return restore.Correction{Outcome: restore.Corrected, Detail: fmt.Sprintf("was %s, is %s", j.Found.Is, j.Found.Should)}, nil
}

// saved is what a correction has replaced, and what it wrote.
type saved struct {
	Key     string             `json:"key"`
	Bucket  int                `json:"bucket"`
	Seen    meterredis.Saved   `json:"seen"`
	Written meterredis.Content `json:"written"`
}

// Undo implements [restore.Plan]. Whoever may not put back all kinds of keys puts back none.
func (p *Plan) Undo(ctx context.Context, f restore.Finding, old []byte, fence restore.Fence) (_ restore.Correction, err error) {
	defer refused(&err)
	m, err := p.meterOf(ctx, fence)
	if err != nil {
		return restore.Correction{}, err
	}
	if err := m.MayRestore(ctx); errors.Is(err, meterredis.ErrMayNotRestore) {
		return restore.Correction{}, fmt.Errorf("nothing was put back: undo writes back what DUMP said: give the user the right (ACL SETUSER NAME +restore), or name another one in --redis: %w", err)
	} else if err != nil {
		return restore.Correction{}, err
	}
	var was saved
	if err := json.Unmarshal(old, &was); err != nil {
		return restore.Correction{}, fmt.Errorf("what the correction of %s replaced cannot be read: %w", f.Item, err)
	}
	left := restore.Correction{Outcome: restore.Corrected, Detail: "it has changed since it was corrected, and is left"}
	seen, _, err := m.Save(ctx, was.Key, "")
	if err != nil {
		return left, err
	}
	is, err := m.Content(ctx, was.Key)
	if err != nil {
		return left, err
	}
	if is.Expires, was.Written.Expires = (time.Time{}), (time.Time{}); !is.SameValue(was.Written) {
		return left, nil
	}
	if is.Type == meterredis.TypeStream && !bytes.Equal(seen.Dump, was.Seen.Dump) { // what is in it only the dump says
		return left, nil
	}
	err = m.Correct(ctx, was.Bucket, meterredis.Correction{Key: was.Key, Seen: seen, Restore: &was.Seen})
	if errors.Is(err, meterredis.ErrChanged) {
		return left, nil
	}
	if err != nil {
		return left, fenced(err, meterredis.ErrFenced, store.ErrLost)
	}
	return restore.Correction{Outcome: restore.Undone, Detail: "is as it was before: " + f.Detail}, nil
}
