package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// abandoned chooses from the indexes. They hold all that was written as abandoned, and the executions that a claim
// met or a sweep found interrupted: the page is partial where the last sweep is older than the listing. A small
// store is swept for the first page.
func (l *listing) abandoned(ctx context.Context, cursor string) error {
	s := l.store
	place, err := parsePlace(cursor)
	if err == nil && cursor == "" {
		place.swept, place.whole, err = s.sweptBy(ctx)
	}
	if err != nil {
		return err
	}
	if l.page.At, err = s.now(ctx); err != nil {
		return err
	}
	l.page.ScannedAt, l.page.Partial = place.swept, !place.whole
	for more := true; more; {
		if more, err = l.chooseIndexed(ctx, &place); err != nil {
			return err
		}
	}
	return s.intact(ctx) // else an index that is empty now may have had entries
}

// chooseIndexed chooses from the next entries, and reports whether to go on.
func (l *listing) chooseIndexed(ctx context.Context, place *place) (more bool, err error) {
	digests, err := l.store.indexed(ctx, place.after, l.limit)
	if err != nil {
		return false, err
	}
	glances, err := l.store.glance(ctx, digests, storedAs(nil)...)
	if err == nil {
		err = l.store.removeStale(ctx, glances)
	}
	if err != nil {
		return false, err
	}
	for _, g := range glances {
		if l.fits(&g) {
			if !l.takes(g) {
				l.page.Next = place.String()
				return false, nil
			}
			l.take(g)
		}
		place.after = g.digest
	}
	return len(digests) == l.limit, nil
}

// removeStale removes entries that do not fit their records any more.
func (s *Store) removeStale(ctx context.Context, glances []glance) error {
	return each(ctx, len(glances), func(ctx context.Context, i int) error {
		g := &glances[i]
		if g.damaged || g.state() == machine.Abandoned {
			return nil
		}
		_, err := s.index(ctx, g.target, g.found, removeFromIndex)
		return err
	})
}

// place is where a listing of abandoned records is.
type place struct {
	after machine.Digest  // the last record that was looked at
	swept machine.Instant // when the last complete sweep began
	whole bool            // it was for this listing
}

func (p place) String() string {
	return fmt.Sprintf("abandoned-%v-%d-%v", p.whole, p.swept, p.after)
}

func parsePlace(cursor string) (p place, err error) {
	if cursor == "" {
		return p, nil // no record has the first digest of all
	}
	parts := strings.Split(cursor, "-")
	if len(parts) != 4 || parts[0] != "abandoned" {
		return p, store.BadCursor(cursor)
	}
	p.whole = parts[1] == "true"
	swept, err := strconv.ParseInt(parts[2], 10, 64)
	if err == nil {
		p.after, err = machine.ParseDigest(parts[3])
	}
	if err != nil {
		return p, store.BadCursor(cursor)
	}
	p.swept = machine.Instant(swept)
	return p, nil
}
