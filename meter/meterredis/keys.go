package meterredis

import (
	"context"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/meter"
)

// Keys are the names of the keys of a unit, for those who look at them one by one.
type Keys struct {
	names names
	unit  unit
}

// KeysOf returns the names of a unit's keys.
func (m *Meter) KeysOf(members Members) Keys { return Keys{m.names, m.writing(members).unit} }

// Tag returns the name of the unit, as [meter.UnitTag].
func (k Keys) Tag() string { return k.unit.tag }

// Unit is what the unit says of itself.
func (k Keys) Unit() string { return k.names.unit(k.unit) }

// LineVersion counts the changes of a line.
func (k Keys) LineVersion(line string) string { return k.names.lineVersion(k.unit, line) }

// FamilyVersion counts the changes of the family's allowance.
func (k Keys) FamilyVersion(family string) string { return k.names.familyVersion(k.unit, family) }

// LinePolicies are the policies that a line has of its own.
func (k Keys) LinePolicies(line string) string { return k.names.linePolicies(k.unit, line) }

// Individual is what a line has left of its allowances of a month.
func (k Keys) Individual(line string, m meter.Month) string {
	return k.names.individual(k.unit, line, m)
}

// Shared is what a family has left of its allowance of a month.
func (k Keys) Shared(family string, m meter.Month) string { return k.names.shared(k.unit, family, m) }

// MonthlyShared is what a line took of its family's allowance in a month.
func (k Keys) MonthlyShared(line string, m meter.Month) string {
	return k.names.monthlyShared(k.unit, line, m)
}

// DailyTotal is what a line was served on a day.
func (k Keys) DailyTotal(line string, d meter.Day) string { return k.names.dailyTotal(k.unit, line, d) }

// DailyApp is the same by app.
func (k Keys) DailyApp(line string, d meter.Day) string { return k.names.dailyApp(k.unit, line, d) }

// DailyShared is what a line took of its family's allowance on a day.
func (k Keys) DailyShared(line string, d meter.Day) string {
	return k.names.dailyShared(k.unit, line, d)
}

// Kind is a kind of key.
type Kind string

// The kinds of keys, as their names begin.
const (
	KindUnit          Kind = "unit"
	KindVersion       Kind = "version"
	KindPolicy        Kind = "policy"
	KindFence         Kind = "fence"
	KindIntake        Kind = "intake"
	KindDead          Kind = "dead"
	KindIndividual    Kind = "remaining_indiv_amount"
	KindShared        Kind = "remaining_shared_amount"
	KindMonthlyShared Kind = "monthly_shared_usage"
	KindDailyTotal    Kind = "daily_total_usage"
	KindDailyApp      Kind = "daily_app_usage"
	KindDailyShared   Kind = "daily_shared_usage"
)

// Name is what the name of a key says.
type Name struct {
	Kind   Kind
	Bucket string // {0042}
	// Line or Family is whose it is, or which unit's.
	Line, Family string
	Month        meter.Month
	Day          meter.Day
	Policy       meter.PolicyID // of a global one
	// Sound is false for a name that begins like one of the meter's and goes on in another way.
	Sound bool
}

// CounterOf is the key that counts the changes of whose key it is, in the bucket that its name says. The two are on one server of a Cluster,
// whichever bucket the owner is in.
func (m *Meter) CounterOf(n Name) string {
	in := unit{bucket: n.Bucket}
	if n.Line == "" {
		return m.names.familyVersion(in, n.Family)
	}
	return m.names.lineVersion(in, n.Line)
}

// Parse reads the name of a key. ok is false for a key that is not the meter's. The records of events are not among
// these keys: they are the store's.
func (m *Meter) Parse(key string) (n Name, ok bool) {
	rest, ok := strings.CutPrefix(key, m.names.prefix)
	if !ok {
		return n, false
	}
	kind, rest, ok := strings.Cut(rest, ":")
	n.Kind = Kind(kind)
	if !ok || !n.Kind.known() {
		return n, false
	}
	bucket, rest, more := strings.Cut(rest, ":")
	n.Bucket = bucket
	switch n.Kind {
	case KindFence, KindIntake, KindDead:
		n.Sound = !more
	case KindUnit, KindVersion:
		n.Sound = more && n.owner(rest)
	case KindPolicy:
		n.Sound = more && (n.owner(rest) && n.Line != "" || n.policy(rest))
	default:
		n.Sound = more && n.period(rest)
	}
	return n, true
}

// kinds are all of them.
func kinds() []Kind {
	return []Kind{KindUnit, KindVersion, KindPolicy, KindFence, KindIntake, KindDead, KindIndividual, KindShared, KindMonthlyShared, KindDailyTotal, KindDailyApp, KindDailyShared}
}

func (k Kind) known() bool { return slices.Contains(kinds(), k) }

func (k Kind) monthly() bool {
	return k == KindIndividual || k == KindShared || k == KindMonthlyShared
}

// owner reads l:<line> or f:<family>.
func (n *Name) owner(text string) bool {
	kind, id, _ := strings.Cut(text, ":")
	if !meter.ValidID(id) {
		return false
	}
	switch kind {
	case "l":
		n.Line = id
	case "f":
		n.Family = id
	}
	return n.Line+n.Family != ""
}

func (n *Name) policy(text string) bool {
	for _, id := range meter.AllPolicies() {
		if id.String() == text {
			n.Policy = id
			return true
		}
	}
	return false
}

// period reads <owner>:<yyyyMM> or <owner>:<yyyyMMdd>.
func (n *Name) period(text string) bool {
	id, period, _ := strings.Cut(text, ":")
	if n.Kind == KindShared {
		n.Family = id
	} else {
		n.Line = id
	}
	var err error
	if n.Kind.monthly() {
		n.Month, err = meter.ParseMonth(period)
	} else {
		n.Day, err = meter.ParseDay(period)
	}
	return err == nil && meter.ValidID(id)
}

// EachKey calls do with the name of every key in Redis, the meter's or not, in no order. A key that is there all the time comes at least once.
func (m *Meter) EachKey(ctx context.Context, do func(key string) error) error {
	nodes, err := m.store.Primaries(ctx)
	if err != nil {
		return err
	}
	return eachPage(ctx, nodes, m.names.prefix+"*", func(keys []string) error {
		for _, key := range keys {
			if err := do(key); err != nil {
				return err
			}
		}
		return nil
	})
}

// AllBuckets returns all buckets as they stand in names.
func AllBuckets() (all []string) {
	for _, bucket := range buckets() {
		all = append(all, bucket)
	}
	return all
}

// FenceKey is the fence of a bucket.
func (m *Meter) FenceKey(bucket string) string { return m.names.fence(bucket) }

// StreamKeys are the streams of a bucket that has some: of events that wait, and of dead letters.
func (m *Meter) StreamKeys(bucket string) []string {
	return []string{m.names.prefix + string(KindIntake) + ":" + bucket, m.names.prefix + string(KindDead) + ":" + bucket}
}

// ShardBucket reports whether events wait in a bucket.
func ShardBucket(bucket string) bool {
	for shard := range Shards {
		if shardTag(shard) == bucket {
			return true
		}
	}
	return false
}
