package movestore

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// CopyOptions are how records are copied.
type CopyOptions struct {
	// Close announces the move, if it is not announced, and waits for its instant, which is the notice from now. It is
	// for when no process works with the source alone any more. One that still does makes no record from then on.
	Close bool
	// Ahead is the notice; zero is [Notice].
	Ahead time.Duration
	// Progress is told of what was done so far, after every batch, one call at a time; nil is nobody.
	Progress func(Copied)
}

// Copied is what became of the records of the source.
type Copied struct {
	Pass int // over all records, from 1; the numbers are those of the last one, apart from Written and Fenced
	// Looked is how many records of the source were looked at.
	Looked int64
	// Written were written into the target, Same were there already, Kept are other ones there that are newer, and Over
	// were forgotten meanwhile.
	Written, Same, Kept, Over int64
	// Fenced are the target's from now on: records that somebody could have taken over in the source, and those of
	// which nobody knows.
	Fenced int64
	// InUse are left to a later run: claimed or executing by somebody, or, until the instant of the move, free to be taken
	// over. So are those of which nobody knows: they are copied before that, and are the target's after it.
	InUse int64
	// Unreadable records of the source are not copied.
	Unreadable int64
	// Made says that new keys are made in the target, since ten seconds before the last pass: it has seen all that
	// there will be.
	Made bool
}

// copyPasses is how often all records are looked at, at most. Every pass but the first finds little.
const copyPasses = 10

// copier copies from one store to another.
type copier struct {
	from, to store.Store
	lister   store.Lister
	importer store.Importer
	move     move
	at       atomic.Int64 // the source's time, when a page was last read
	options  CopyOptions

	mu   sync.Mutex
	done Copied
}

// Copy copies all records of the source into the target, which is empty, or was filled from the same source before. It
// can be repeated, also after it was stopped anywhere: what is there already is not written again. Processes may go on
// with the source, or with both as one [Store].
//
// What is claimed or executing is left to a later run ([Copied.InUse]); so is what could be taken over, until the
// instant of the move. After that, nothing new comes, and records are looked at again until nothing was left to write.
func Copy(ctx context.Context, source, target store.Store, options CopyOptions) (Copied, error) {
	c := &copier{from: source, to: target, options: options}
	if err := c.open(ctx); err != nil {
		return Copied{}, err
	}
	for pass := 1; pass <= copyPasses; pass++ {
		before := c.done
		c.done = Copied{Pass: pass, Written: before.Written, Fenced: before.Fenced}
		c.done.Made = c.move.made(c.now())
		if err := c.pass(ctx); err != nil {
			return c.done, err
		}
		if !c.announced() || c.done.Written == before.Written && c.done.Fenced == before.Fenced {
			break
		}
	}
	return c.done, nil
}

// open checks that the one may be copied into the other, and marks them.
func (c *copier) open(ctx context.Context) error {
	var ok bool
	if c.lister, ok = store.As[store.Lister](c.from); !ok {
		return fmt.Errorf("the source cannot be listed: %w", store.ErrUnsupported)
	}
	if c.importer, ok = store.As[store.Importer](c.to); !ok {
		return fmt.Errorf("the target cannot take in records: %w", store.ErrUnsupported)
	}
	p, err := newPair(c.to, c.from)
	if err != nil {
		return err
	}
	if c.move, err = p.link(ctx); err == nil {
		err = p.findable(ctx)
	}
	if err == nil && c.options.Close {
		err = c.close(ctx, p)
	}
	c.at.Store(int64(c.move.at))
	return err
}

// close announces the move and waits for its instant.
func (c *copier) close(ctx context.Context, p *pair) (err error) {
	ahead := c.options.Ahead
	if ahead == 0 {
		ahead = Notice
	}
	// A second more, because the announcement takes its time.
	if c.move, err = p.announce(ctx, c.move.at.Add(ahead+time.Second), ahead); err != nil {
		return err
	}
	timer := time.NewTimer(c.move.from.Add(underWay).Sub(c.move.at))
	defer timer.Stop()
	select {
	case <-timer.C:
		_, _, c.move, err = p.read(ctx)
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// now is the source's time, or a little before.
func (c *copier) now() machine.Instant { return machine.Instant(c.at.Load()) }

// announced reports whether the instant of the move had come when the source was last asked.
func (c *copier) announced() bool { return c.move.from != 0 && c.now() >= c.move.from }

// pass looks at all records of the source. While one page is read, others are written.
func (c *copier) pass(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	pages := make(chan store.Page, 1)
	group.Go(func() error {
		defer close(pages)
		return c.list(ctx, pages)
	})
	for range copyWriters {
		group.Go(func() error {
			for page := range pages {
				if err := c.copyPage(ctx, page); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

const (
	copyWriters = 2
	// pageRecords and pageBytes are how many records a page has, and about how large they are together.
	pageRecords = 1000
	pageBytes   = 32 << 20
)

// list reads page after page.
func (c *copier) list(ctx context.Context, pages chan<- store.Page) error {
	limit := pageRecords
	for cursor := ""; ; {
		page, err := c.lister.List(ctx, store.Filter{}, cursor, limit)
		if err != nil {
			return fmt.Errorf("reading the source: %w", err)
		}
		c.at.Store(int64(page.At))
		limit = nextLimit(page, limit)
		select {
		case pages <- page:
		case <-ctx.Done():
			return ctx.Err()
		}
		if cursor = page.Next; cursor == "" {
			return nil
		}
	}
}

// nextLimit is how many records the next page may have, if they are as large as those of this one. A page without records,
// as a scan has now and then, tells nothing of that: its own limit holds again.
func nextLimit(page store.Page, limit int) int {
	if len(page.Records) == 0 {
		return limit
	}
	bytes := 1
	for _, r := range page.Records {
		bytes += len(r.Response.Data)
	}
	return max(1, min(pageRecords, len(page.Records)*pageBytes/bytes+1))
}

// sorted is what is to be done with the records of a page.
type sorted struct {
	copied   []*machine.Record // are written, and that is all
	fencible []*machine.Record // are written, and then fenced: somebody could take them over, or they are unknown
	half     []*machine.Record // were written; the fence is half made
	over     int64
	inUse    int64
	fenced   int64
}

// sort sorts the records of a page. A record that is there twice is taken once.
func (c *copier) sort(page store.Page) sorted {
	var s sorted
	past := c.move.from != 0 && page.At >= c.move.from
	met := make(map[machine.Digest]bool, len(page.Records))
	for _, r := range page.Records {
		if met[r.Scope.Digest] {
			continue
		}
		met[r.Scope.Digest] = true
		switch state, _ := r.Judge(page.At); {
		case state == machine.Absent:
			s.over++
		case c.move.isFence(r):
			s.fenced++
		case c.isHalfFenced(r):
			s.half = append(s.half, r)
		case state == machine.Completed, state == machine.Expired, state == machine.Abandoned && !past:
			s.copied = append(s.copied, r)
		case !past, state != machine.Abandoned && state != machine.Retryable && page.At < r.LeaseEnd:
			s.inUse++
		default:
			s.fencible = append(s.fencible, r)
		}
	}
	return s
}

// copyPage does what is to be done with a page.
func (c *copier) copyPage(ctx context.Context, page store.Page) error {
	s := c.sort(page)
	records := append(s.copied[:len(s.copied):len(s.copied)], s.fencible...)
	outcomes, err := c.importer.Import(ctx, records)
	if err != nil {
		return fmt.Errorf("writing into the target: %w", err)
	}
	fenced, err := c.fenceAll(ctx, written(s.fencible, outcomes[len(s.copied):]), s.half)
	if err != nil {
		return fmt.Errorf("fencing records of the source: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := &c.done
	d.Looked += int64(len(page.Records) + len(page.Unreadable))
	d.Unreadable += int64(len(page.Unreadable))
	d.InUse += s.inUse + int64(len(s.fencible)+len(s.half)) - fenced
	d.Fenced += fenced
	d.Over += s.over
	for _, outcome := range outcomes {
		switch outcome {
		case store.ImportWritten:
			d.Written++
		case store.ImportSame:
			d.Same++
		case store.ImportKept:
			d.Kept++
		case store.ImportOver:
			d.Over++
		}
	}
	if c.options.Progress != nil {
		c.options.Progress(*d)
	}
	return nil
}

// written returns those of the records that are in the target as they are.
func written(records []*machine.Record, outcomes []store.Import) (there []*machine.Record) {
	for i, r := range records {
		if outcomes[i] == store.ImportWritten || outcomes[i] == store.ImportSame {
			there = append(there, r)
		}
	}
	return there
}

// fenceAll fences what is written, and finishes fences that were begun. It returns how many there are for it. What has
// changed meanwhile is for the next pass.
func (c *copier) fenceAll(ctx context.Context, fencible, half []*machine.Record) (fenced int64, err error) {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	each := func(records []*machine.Record, step func(context.Context, *machine.Record) (bool, error)) {
		for _, r := range records {
			group.Go(func() error {
				done, err := step(ctx, r)
				mu.Lock()
				defer mu.Unlock()
				if done {
					fenced++
				}
				return err
			})
		}
	}
	each(fencible, c.fence)
	each(half, c.finish)
	err = group.Wait()
	return fenced, err
}
