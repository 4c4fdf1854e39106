package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// What Redis is worth, in a word.
const (
	Intact      = "intact"
	Stale       = "stale"   // all of it is there, and is not what SQL says
	Partial     = "partial" // some of its buckets are
	Empty       = "empty"
	Unreachable = "unreachable"
	Unreadable  = "unreadable" // nothing is found to be wrong, and not all of it could be read
)

// Assessment says what Redis is worth, and what is lost.
type Assessment struct {
	Verdict string `json:"verdict"`
	Detail  string `json:"detail"`
	// Generation is the one that SQL believes, and RedisGeneration what Redis has; empty if it has none, or not one.
	Generation      meter.Generation `json:"generation"`
	RedisGeneration meter.Generation `json:"redis_generation"`
	Gate            string           `json:"gate"` // in SQL
	Units           int64            `json:"units"`
	Families        int64            `json:"families"`
	LoneLines       int64            `json:"lone_lines"`
	// Keys are how many keys there are of each family, and how many follow from SQL.
	Keys []KeyFamily `json:"keys"`
	// Lost are recorded events whose effect Redis does not have, and their bytes what was taken for them.
	Lost Loss `json:"lost"`
	// GrantedTooMuch says that Redis may have decided events with balances that lack what is lost: up to that much was granted twice.
	GrantedTooMuch bool `json:"granted_too_much"`
	// Unrecorded is how many changes Redis has made of which SQL has no row: they are on their way, or their process has died. Waiting is how many
	// events are in the durable inbox.
	Unrecorded int64 `json:"unrecorded"`
	Waiting    int64 `json:"waiting"`
	// Hidden is how many units could not be read: nothing is known of what they hold.
	Hidden int64 `json:"hidden"`
	// Differences are those that were found, if Redis has the generation that SQL believes.
	Differences []string `json:"differences,omitempty"`
}

// KeyFamily is how many keys there are of a family. Redis is -1 if it cannot be asked.
type KeyFamily struct {
	Family   string `json:"family"`
	Expected int64  `json:"expected"`
	Redis    int64  `json:"redis"`
}

// Loss is what is lost with events.
type Loss struct {
	Events int64      `json:"events"`
	First  *time.Time `json:"first,omitempty"` // when they happened
	Last   *time.Time `json:"last,omitempty"`
	// Individual, QoS and Shared are bytes.
	Individual json.Number `json:"individual"`
	QoS        json.Number `json:"qos"`
	Shared     json.Number `json:"shared"`
}

// Assess looks at all of Redis and of SQL, and changes nothing.
func (i *Inspector) Assess(ctx context.Context, now time.Time, patience time.Duration) (a Assessment, err error) {
	if a.Generation, err = i.Ledger.Generation(ctx); err != nil {
		return a, err
	}
	counts, err := i.Ledger.Counts(ctx)
	if err != nil {
		return a, err
	}
	policies, err := i.Ledger.Policies(ctx, nil)
	if err != nil {
		return a, err
	}
	a.Gate, a.Waiting = policies.Global.Get(meter.Gate).Text(), counts.Inbox
	a.Units, a.Families, a.LoneLines = counts.Families+counts.LoneLines, counts.Families, counts.LoneLines
	uncounted, err := i.countKeys(ctx, now, counts, &a)
	if err != nil {
		return a, err
	}
	a.Lost = lossOf(meterledger.Lost{})
	err = i.worth(ctx, now, patience, &a)
	if uncounted != nil && a.Verdict == Intact { // there may be others, which nobody expects
		a.Verdict, a.Detail = Unreadable, fmt.Sprintf("%s, but which keys it has is not to be seen: %v", a.Detail, uncounted)
	}
	return a, err
}

// worth says in one word, and in more, what Redis is worth, and what of the done log it lacks.
func (i *Inspector) worth(ctx context.Context, now time.Time, patience time.Duration, a *Assessment) error {
	switch {
	case errors.Is(i.Unopened, fs.ErrNotExist):
		a.Verdict, a.Detail = Empty, "there is no meter in it"
	case errors.Is(i.Unopened, store.ErrLost):
		a.Verdict, a.Detail = Stale, "it is not the server that was accepted: "+i.Unopened.Error()
	case meterredis.Refused(i.Unopened):
		a.Verdict, a.Detail = Unreadable, i.Unopened.Error()
		return nil
	case i.Unopened != nil:
		a.Verdict, a.Detail = Unreachable, i.Unopened.Error()
		return nil // what it has nobody knows
	case i.Meter.Generation() == "":
		a.Verdict, a.Detail = Partial, "its buckets do not have the same generation"
	case i.Meter.Generation() != a.Generation:
		a.RedisGeneration = i.Meter.Generation()
		a.Verdict, a.Detail = Stale, fmt.Sprintf("it has generation %s, and decides nothing", a.RedisGeneration)
	default:
		a.RedisGeneration = a.Generation
		return i.compared(ctx, now, patience, a)
	}
	lost, err := i.Ledger.LostMonths(ctx, i.Horizon.Months(i.Calendar, now)[0])
	a.Lost = lossOf(lost)
	return err
}

// compared audits a Redis that has the generation that SQL believes.
func (i *Inspector) compared(ctx context.Context, now time.Time, patience time.Duration, a *Assessment) error {
	report, err := i.Audit(ctx, now, patience)
	if errors.Is(err, ErrRedis) && ctx.Err() == nil {
		a.Verdict, a.Detail = Unreadable, err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	for _, d := range report.Differences {
		a.Differences = append(a.Differences, d.String())
	}
	a.Unrecorded, a.Hidden = report.Ahead, int64(len(report.Unreadable))
	a.Verdict, a.Detail = Intact, fmt.Sprintf("%d units are as SQL says, and %d were under way", report.Units-len(report.Unflushed), len(report.Unflushed))
	if tags := slices.Sorted(maps.Keys(report.Unreadable)); len(tags) > 0 {
		a.Verdict, a.Detail = Unreadable, fmt.Sprintf("%d units cannot be read, such as %s: %s", len(tags), tags[0], report.Unreadable[tags[0]])
	}
	if different := len(report.Differences); different > 0 {
		detail := fmt.Sprintf("%d differences in %d units", different, report.Units)
		if a.Hidden > 0 {
			detail += "; " + a.Detail
		}
		a.Verdict, a.Detail = Stale, detail
	}
	if len(report.Behind) == 0 {
		return nil
	}
	lost, err := i.Ledger.LostChanges(ctx, a.Generation, report.Behind)
	a.Lost, a.GrantedTooMuch = lossOf(lost), lost.Bytes != (meterledger.Allowances{})
	return err
}

func lossOf(lost meterledger.Lost) Loss {
	number := func(w meter.Wide) json.Number { return json.Number(w.String()) }
	l := Loss{Events: lost.Events, Individual: number(lost.Bytes.Individual), QoS: number(lost.Bytes.QoS), Shared: number(lost.Bytes.Shared)}
	if lost.Events > 0 {
		l.First, l.Last = &lost.First, &lost.Last
	}
	return l
}

// countKeys counts keys by their families. uncounted is why it could not count those that Redis has.
func (i *Inspector) countKeys(ctx context.Context, now time.Time, counts meterledger.Counts, a *Assessment) (uncounted, err error) {
	c, err := i.Ledger.ExpectedKeys(ctx, i.Horizon.Months(i.Calendar, now), i.Horizon.Days(i.Calendar, now))
	if err != nil {
		return nil, err
	}
	seen := map[meterredis.Kind]int64{}
	if i.Meter != nil {
		uncounted = i.Meter.EachKey(ctx, func(key string) error {
			if n, ours := i.Meter.Parse(key); ours {
				seen[n.Kind]++
			}
			return nil
		})
	}
	for _, family := range []struct {
		kind     meterredis.Kind
		expected int64
	}{
		{meterredis.KindUnit, a.Units}, {meterredis.KindVersion, counts.Lines + counts.Families},
		{meterredis.KindIndividual, c.Individual}, {meterredis.KindShared, c.Shared},
		{meterredis.KindDailyTotal, c.DailyTotal}, {meterredis.KindDailyApp, c.DailyTotal}, {meterredis.KindDailyShared, c.DailyShared},
		{meterredis.KindMonthlyShared, c.MonthlyShared},
	} {
		k := KeyFamily{Family: string(family.kind), Expected: family.expected, Redis: seen[family.kind]}
		if uncounted != nil || i.Meter == nil && !errors.Is(i.Unopened, fs.ErrNotExist) {
			k.Redis = -1
		}
		a.Keys = append(a.Keys, k)
	}
	return uncounted, context.Cause(ctx)
}
