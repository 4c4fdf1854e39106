package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// sweepPage is how many keys are judged together: SQL is asked for their owners once.
const sweepPage = 5000

// Sweep looks at the names of all keys in Redis, and reports those under the meter's names that nobody expects: of lines and families that
// SQL does not know, in a bucket that is not their owner's, of a time that no event can change, or with a name that makes no sense.
// What a unit may have of the days and months whose events are accepted, [Inspector.AuditRange] compares. It may run while events are
// decided, and changes nothing. It returns how many of the meter's keys it has seen.
func (i *Inspector) Sweep(ctx context.Context, found func(Difference)) (seen int64, err error) {
	if err := i.opened(); err != nil {
		return 0, err
	}
	counts, err := i.Ledger.Counts(ctx)
	if err != nil {
		return 0, err
	}
	pages, known := make(chan []string, 1), newOwnersKnown(int(min(ownersRemembered, 4*(counts.Lines+counts.Families)+1)))
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return i.pages(inner, pages)
	})
	group.Go(func() error {
		for page := range pages { // Redis is scanned meanwhile
			extra, err := i.unexpected(inner, page, known)
			if err != nil {
				return err
			}
			seen += int64(len(page))
			for _, d := range extra {
				found(d)
			}
		}
		return nil
	})
	return seen, group.Wait()
}

// pages sends the names of the meter's keys, so many at once. A key may come twice.
func (i *Inspector) pages(ctx context.Context, pages chan<- []string) error {
	var page []string
	send := func() error {
		select {
		case pages <- page:
			page = nil
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := i.Meter.EachKey(ctx, func(key string) error {
		if _, ours := i.Meter.Parse(key); !ours {
			return nil
		}
		if page = append(page, key); len(page) < sweepPage {
			return nil
		}
		return send()
	}); err != nil || len(page) == 0 {
		return err
	}
	return send()
}

// Unexpected returns those of some keys that nobody expects. SQL is asked after Redis: what is new is in SQL first.
func (i *Inspector) Unexpected(ctx context.Context, keys []string) (all []Difference, err error) {
	return i.unexpected(ctx, keys, newOwnersKnown(1))
}

// unexpected is [Inspector.Unexpected], and remembers the owners it had to ask SQL about. What would not be expected of an owner as it
// is remembered is judged as SQL has it now.
func (i *Inspector) unexpected(ctx context.Context, keys []string, remembered *ownersKnown) (all []Difference, err error) {
	now, err := i.Ledger.Now(ctx)
	if err != nil {
		return nil, err
	}
	s := &sweeping{auditing: i.auditing(&Report{}, now)}
	unsure := map[string]meterredis.Name{}
	lines, families := map[string]bool{}, map[string]bool{}
	for _, key := range keys {
		n, _ := i.Meter.Parse(key)
		if owner, known := remembered.get(n); known && s.plain(n, owner) {
			continue
		}
		unsure[key], lines[n.Line], families[n.Family] = n, true, true
	}
	if s.lines, err = i.Ledger.Lines(ctx, slices.Collect(maps.Keys(lines))); err != nil {
		return nil, err
	}
	if s.families, err = i.Ledger.Families(ctx, slices.Collect(maps.Keys(families))); err != nil {
		return nil, err
	}
	for key, n := range unsure {
		if owner, known := s.owner(n); known {
			remembered.put(n, owner)
		}
		d, err := s.judge(ctx, key, n)
		if err != nil {
			return nil, err
		}
		if d != nil {
			all = append(all, *d)
		}
	}
	return all, nil
}

// sweeping judges keys, with what SQL knows of their owners.
type sweeping struct {
	*auditing
	lines    map[string]meterledger.Line
	families map[string]meterledger.Family
}

// judge returns what is wrong with a key by its name; nil if nothing is.
func (s *sweeping) judge(ctx context.Context, key string, n meterredis.Name) (*Difference, error) {
	if _, ok := n.BucketOf(); !n.Sound || !ok {
		return s.extra(ctx, key, n, "nobody gives a key this name")
	}
	switch n.Kind {
	case meterredis.KindFence:
		return nil, nil
	case meterredis.KindIntake, meterredis.KindDead:
		if !meterredis.ShardBucket(n.Bucket) {
			return s.extra(ctx, key, n, "events wait in other buckets")
		}
		return nil, nil
	case meterredis.KindPolicy:
		if n.Policy > 0 {
			return nil, nil
		}
	}
	owner, known := s.owner(n)
	switch {
	case !known:
		return s.extra(ctx, key, n, "SQL does not know its owner")
	case s.plain(n, owner):
		return nil, nil
	case n.Kind == meterredis.KindUnit || n.Kind == meterredis.KindVersion:
		return s.judgeOwner(ctx, key, n)
	case n.Kind == meterredis.KindPolicy:
		return s.extra(ctx, key, n, "its owner is in another bucket")
	}
	return s.judgePeriod(ctx, key, n)
}

// owner is what matters of the owner of a key, where SQL knows it.
func (s *sweeping) owner(n meterredis.Name) (o owner, known bool) {
	if n.Family != "" {
		_, known = s.families[n.Family]
		return ownerOf("", n.Family), known
	}
	line, known := s.lines[n.Line]
	return ownerOf(n.Line, line.Family), known
}

// plain reports whether an owner may have a key, and neither Redis nor SQL has to be asked anything more: what it holds is compared with its unit.
func (s *sweeping) plain(n meterredis.Name, o owner) bool {
	if bucket, ok := n.BucketOf(); !n.Sound || !ok || bucket != o.bucket || n.Policy > 0 {
		return false
	}
	switch n.Kind {
	case meterredis.KindUnit:
		return n.Family != "" || !o.inFamily // else it is of a line in none that is in one now
	case meterredis.KindVersion, meterredis.KindPolicy:
		return n.Line+n.Family != ""
	case meterredis.KindFence, meterredis.KindIntake, meterredis.KindDead:
		return false
	}
	period, first, last, _ := s.period(n)
	return period >= first && period <= last
}

// period is the day or the month of a key, and those whose events are accepted.
func (s *sweeping) period(n meterredis.Name) (period, first, last int, expires time.Time) {
	if n.Month > 0 {
		return int(n.Month), int(s.months[0]), int(s.months[len(s.months)-1]), s.Meter.MonthExpiry(n.Month)
	}
	return int(n.Day), int(s.days[0]), int(s.days[len(s.days)-1]), s.Meter.DayExpiry(n.Day)
}

// judgeOwner judges a unit, or a counter of changes. A line that has moved leaves a mark where it was, and its unit if it was in no family.
func (s *sweeping) judgeOwner(ctx context.Context, key string, n meterredis.Name) (*Difference, error) {
	if n.Family != "" {
		return s.extra(ctx, key, n, "the family is in another bucket")
	}
	was, err := s.wasIn(ctx, n.Line, n.Bucket)
	if err != nil || !was {
		return s.extra(ctx, key, n, "its owner was never in this bucket")
	}
	content, err := s.Meter.Content(ctx, key)
	switch {
	case err != nil:
		return nil, err
	case n.Kind == meterredis.KindVersion && content.SameValue(meterredis.Text("moved", time.Time{})):
		return nil, nil
	case n.Kind == meterredis.KindUnit && content.Fields["generation"] == string(s.Meter.Generation()):
		return nil, nil
	}
	return s.extra(ctx, key, n, "its owner has moved to another bucket")
}

// wasIn reports whether a line is, or was, of a unit in a bucket.
func (s *sweeping) wasIn(ctx context.Context, line, bucket string) (bool, error) {
	history, err := s.Ledger.History(ctx, line)
	for _, h := range history {
		if meterredis.UnitBucket(line, h.Family) == bucket {
			return true, err
		}
	}
	return false, err
}

// judgePeriod judges a key of a day or a month that its owner does not plainly have. One of a time that is over may stay until it expires.
func (s *sweeping) judgePeriod(ctx context.Context, key string, n meterredis.Name) (*Difference, error) {
	period, first, last, expires := s.period(n)
	switch {
	case period > last:
		return s.extra(ctx, key, n, "no event of this time is accepted yet")
	case period >= first:
		return s.extra(ctx, key, n, "its owner is in another bucket")
	}
	content, err := s.Meter.Content(ctx, key)
	if err != nil || content.Type == meterredis.TypeNone {
		return nil, err
	}
	if content.Expires.IsZero() || content.Expires.After(expires.Add(time.Second)) {
		return s.extra(ctx, key, n, "its time is over, and it does not expire when it should")
	}
	return nil, nil
}

// extra is a key that is not to be there, unless it has gone meanwhile.
func (s *sweeping) extra(ctx context.Context, key string, n meterredis.Name, why string) (*Difference, error) {
	content, err := s.Meter.Content(ctx, key)
	if err != nil {
		return nil, err
	}
	d := differenceOf(key, content, meterredis.Content{Type: meterredis.TypeNone}, s.counterOf(n))
	if d != nil {
		d.Should = fmt.Sprintf("not there: %s", why)
	}
	return d, nil
}

// counterOf is the key that counts the changes of the owner of a key, if there is one.
func (s *sweeping) counterOf(n meterredis.Name) string {
	if _, known := s.tagOf(n); !known {
		return ""
	}
	return counterKey(s.Inspector, n)
}

func (s *sweeping) tagOf(n meterredis.Name) (string, bool) {
	if n.Family != "" {
		_, known := s.families[n.Family]
		return meter.UnitTag("", n.Family), known
	}
	line, known := s.lines[n.Line]
	return meter.UnitTag(n.Line, line.Family), known && n.Line != ""
}
