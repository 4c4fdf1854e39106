package meterredis

import (
	"fmt"
	"strconv"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// names are those of all keys of a meter. The prefix is empty, but for a drill, which must not touch what lives.
type names struct{ prefix string }

// unit is a family with all its lines, or a line in none, and what all its keys have in common.
type unit struct {
	tag    string // as meter.UnitTag
	bucket string // {0042}
}

func unitOf(line, family string) unit {
	tag := meter.UnitTag(line, family)
	return unit{tag, redisstore.Bucket(tag)}
}

func (n names) unit(u unit) string { return n.prefix + "unit:" + u.bucket + ":" + u.tag }

func (n names) individual(u unit, line string, m meter.Month) string {
	return n.prefix + "remaining_indiv_amount:" + u.bucket + ":" + line + ":" + m.String()
}

func (n names) shared(u unit, family string, m meter.Month) string {
	return n.prefix + "remaining_shared_amount:" + u.bucket + ":" + family + ":" + m.String()
}

func (n names) dailyTotal(u unit, line string, d meter.Day) string {
	return n.prefix + "daily_total_usage:" + u.bucket + ":" + line + ":" + d.String()
}

func (n names) dailyApp(u unit, line string, d meter.Day) string {
	return n.prefix + "daily_app_usage:" + u.bucket + ":" + line + ":" + d.String()
}

func (n names) dailyShared(u unit, line string, d meter.Day) string {
	return n.prefix + "daily_shared_usage:" + u.bucket + ":" + line + ":" + d.String()
}

func (n names) monthlyShared(u unit, line string, m meter.Month) string {
	return n.prefix + "monthly_shared_usage:" + u.bucket + ":" + line + ":" + m.String()
}

// policy is a global policy, as each bucket has it.
func (n names) policy(bucket string, id meter.PolicyID) string {
	return n.prefix + "policy:" + bucket + ":" + id.String()
}

// fence is that of a bucket: the epoch of whoever restores.
func (n names) fence(bucket string) string { return n.prefix + "fence:" + bucket }

// linePolicies are those of a line.
func (n names) linePolicies(u unit, line string) string {
	return n.prefix + "policy:" + u.bucket + ":l:" + line
}

func (n names) lineVersion(u unit, line string) string {
	return n.prefix + "version:" + u.bucket + ":l:" + line
}

func (n names) familyVersion(u unit, family string) string {
	return n.prefix + "version:" + u.bucket + ":f:" + family
}

// intake is the stream of a shard, in the first of its buckets.
func (n names) intake(shard int) string { return n.prefix + "intake:" + shardTag(shard) }

// dead is the stream of a shard's dead letters.
func (n names) dead(shard int) string { return n.prefix + "dead:" + shardTag(shard) }

func shardTag(shard int) string { return fmt.Sprintf("{%04d}", shard*(redisstore.Buckets/Shards)) }

// Fields of hashes.
const (
	fieldGeneration = "generation"
	fieldPhase      = "phase"
	fieldOpen       = "open"
	fieldStamp      = "stamp" // of policy 8: the versions of the others, which tells that they are all there, and which
	fieldAmount     = "amount"
	fieldQoS        = "qos"
	fieldUsage      = "usage_amount"
	fieldFamily     = "family_id"

	versionMoved = "moved" // in the bucket that a line has left
)

// openedField is the field of a unit that says that a month is open.
func openedField(m meter.Month) string { return "opened:" + m.String() }

// policiesField is the field of a unit that says which policies of its own a line has.
func policiesField(line string) string { return "policies:" + line }

// movesField is the field of a unit that says which of a line's moves was the last to bring it here, or, below zero, to take it away: units of
// one bucket share the other keys of the line.
func movesField(line string) string { return "moves:" + line }

func appField(app, part string) string { return "app:" + app + ":" + part }

func number(n int64) string { return strconv.FormatInt(n, 10) }
