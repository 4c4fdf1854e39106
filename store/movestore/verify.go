package movestore

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Verified is what a comparison of all records of a source with those of its target has found.
type Verified struct {
	// Looked are the records of the source. Each is one of the following.
	Looked int64
	// Equal are answered, and the same in both, in every field. Fenced are the target's. Over were forgotten meanwhile.
	Equal, Fenced, Over int64
	// InUse are claimed, executing, free to be taken over or unknown in the source, and so not the target's.
	InUse int64
	// Missing are not in the target, Different are other ones there. Unreadable ones of the source could not be compared.
	Missing, Different, Unreadable int64
	// Made says that new keys are made in the target, since ten seconds before the source was looked at. Until that it
	// may have records that are not copied yet.
	Made bool
	// Target is how many records the target has, with those that were made there.
	Target int64
}

// Complete reports whether processes may do without the source: everything is in the target, and nothing new comes, or
// can go on, in the source.
func (v Verified) Complete() bool {
	return v.Made && v.InUse == 0 && v.Missing == 0 && v.Different == 0 && v.Unreadable == 0
}

// VerifyOptions are how two stores are compared.
type VerifyOptions struct {
	// Difference is told of each record that is missing or different, one call at a time; nil is nobody.
	Difference func(scope machine.Scope, what string)
	// Progress is told of what was done so far, one call at a time; nil is nobody.
	Progress func(Verified)
}

// verifying compares.
type verifying struct {
	copier
	options VerifyOptions
	found   Verified
}

// atOnce is how many records are asked for at a time.
const atOnce = 64

// Verify compares every record of a source with the target's, and counts those of the target. It changes nothing.
func Verify(ctx context.Context, source, target store.Store, options VerifyOptions) (Verified, error) {
	v := &verifying{copier: copier{from: source, to: target}, options: options}
	p, err := newPair(target, source)
	if err != nil {
		return Verified{}, err
	}
	if _, _, v.move, err = p.read(ctx); err == nil {
		err = p.findable(ctx)
	}
	if err != nil {
		return Verified{}, err
	}
	v.found.Made = v.move.made(v.move.at)
	err = eachPage(ctx, source, func(page store.Page) error {
		for _, digest := range page.Unreadable {
			v.found.Unreadable++
			v.tell(machine.Scope{Digest: digest}, "it cannot be read in the source")
		}
		return v.comparePage(ctx, page)
	})
	if err != nil {
		return v.found, err
	}
	err = eachPage(ctx, target, func(page store.Page) error {
		v.found.Target += int64(len(page.Records))
		return nil
	})
	return v.found, err
}

// eachPage lists all records of a store.
func eachPage(ctx context.Context, s store.Store, work func(store.Page) error) error {
	limit := pageRecords
	for cursor := ""; ; {
		page, err := list(ctx, s, store.Filter{}, cursor, limit)
		if err != nil {
			return err
		}
		if err := work(page); err != nil {
			return err
		}
		if limit, cursor = nextLimit(page, limit), page.Next; cursor == "" {
			return nil
		}
	}
}

func (v *verifying) comparePage(ctx context.Context, page store.Page) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	var mu sync.Mutex
	s := v.sort(page)
	v.found.Looked += int64(len(page.Records))
	v.found.Over += s.over
	v.found.Fenced += s.fenced
	v.found.InUse += s.inUse + int64(len(s.fencible)+len(s.half))
	for _, r := range s.copied {
		if state, _ := r.Judge(page.At); state == machine.Abandoned { // before the instant of the move
			v.found.InUse++
			continue
		}
		group.Go(func() error {
			there, err := v.to.Apply(ctx, machine.Inspect{Scope: r.Scope})
			if err != nil {
				return fmt.Errorf("reading the target: %w", err)
			}
			mu.Lock()
			defer mu.Unlock()
			v.compare(r, there)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if v.options.Progress != nil {
		v.options.Progress(v.found)
	}
	return nil
}

// compare counts a record.
func (v *verifying) compare(r *machine.Record, there machine.Reply) {
	state, _ := r.Judge(there.At)
	switch {
	case store.SameRecord(r, there.Record):
		v.found.Equal++
	case state == machine.Absent:
		v.found.Over++
	case there.Record == nil:
		v.found.Missing++
		v.tell(r.Scope, "it is missing in the target")
	default:
		v.found.Different++
		v.tell(r.Scope, difference(r, there.Record))
	}
}

func (v *verifying) tell(scope machine.Scope, what string) {
	if v.options.Difference != nil {
		v.options.Difference(scope, what)
	}
}

// difference says in what two records differ.
func difference(source, target *machine.Record) string {
	for _, field := range []struct {
		name           string
		source, target any
	}{
		{"state", source.State, target.State},
		{"revision", source.Revision, target.Revision},
		{"attempt", source.Attempt, target.Attempt},
		{"digest of the answer", source.Response.Digest, target.Response.Digest},
		{"end of the replay window", source.WindowEnd, target.WindowEnd},
		{"remember-until", source.RememberUntil, target.RememberUntil},
		{"lease", source.LeaseEnd, target.LeaseEnd},
		{"reason", source.Reason, target.Reason},
	} {
		if field.source != field.target {
			return fmt.Sprintf("%s: %v in the source, %v in the target", field.name, field.source, field.target)
		}
	}
	return "it is another one in the target"
}
