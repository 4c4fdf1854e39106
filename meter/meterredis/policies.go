package meterredis

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// A deduction does not read the policies, of which there may be thousands of settings: whoever sends it works out what they
// mean, and names their versions. Of the global ones policy 8 has these in every bucket, as a stamp; of a line's own its
// unit has. The script refuses where they are others by now, and the sender reads them again.

// policyCache is what this process knows of policies.
type policyCache struct {
	mu          sync.Mutex
	global      meter.PolicySet
	globalStamp string
	lines       map[string]ownPolicies // of lines that have some
}

type ownPolicies struct {
	set   meter.PolicySet
	stamp string
}

// cachedLines bounds the lines. They are forgotten together.
const cachedLines = 100_000

// policiesKnown is what is known for an event of a line.
type policiesKnown struct {
	global, line           meter.PolicySet
	globalStamp, lineStamp string
}

func (c *policyCache) of(line string) policiesKnown {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.lines[line]
	return policiesKnown{c.global, own.set, c.globalStamp, own.stamp}
}

func (c *policyCache) put(line string, known policiesKnown) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.global, c.globalStamp = known.global, known.globalStamp
	delete(c.lines, line)
	if known.lineStamp == "" {
		return
	}
	if c.lines == nil || len(c.lines) >= cachedLines {
		c.lines = map[string]ownPolicies{}
	}
	c.lines[line] = ownPolicies{known.line, known.lineStamp}
}

// refresh reads the policies that hold for a line, in one transaction.
func (m *Meter) refresh(ctx context.Context, u unit, line string) error {
	b := m.client.B()
	commands := rueidis.Commands{b.Multi().Build()}
	for _, id := range meter.AllPolicies() {
		commands = append(commands, b.Hgetall().Key(m.names.policy(u.bucket, id)).Build())
	}
	commands = append(commands, b.Hgetall().Key(m.names.linePolicies(u, line)).Build(), b.Exec().Build())
	replies := m.client.DoMulti(ctx, commands...)
	all, err := replies[len(replies)-1].ToArray()
	if err != nil {
		return store.Unavailable(fmt.Errorf("read the policies of bucket %s: %w", u.bucket, err))
	}
	var known policiesKnown
	for i, id := range meter.AllPolicies() {
		hash, err := all[i].AsStrMap()
		if err != nil || len(hash) == 0 {
			continue // what is missing the script says
		}
		if id == meter.Gate {
			known.globalStamp = hash[fieldStamp]
			delete(hash, fieldStamp)
			if len(hash) == 0 {
				continue
			}
		}
		p, err := meter.ReadPolicy(id, hash)
		if err != nil {
			return store.Unavailable(fmt.Errorf("bucket %s: %w: write it again from SQL", u.bucket, err))
		}
		known.global = known.global.With(p)
	}
	own, err := all[len(all)-1].AsStrMap()
	if err == nil && len(own) > 0 {
		if known.line, err = meter.ReadLinePolicies(own); err != nil {
			return store.Unavailable(fmt.Errorf("policies of line %s: %w: write them again from SQL", line, err))
		}
		known.lineStamp = stampOf(known.line)
	}
	m.policies.put(line, known)
	return nil
}

// stampOf names the versions of a set: 3:1,5:12.
func stampOf(set meter.PolicySet) string {
	var parts []string
	for _, id := range meter.AllPolicies() {
		if v := set.Get(id).Version(); v > 0 {
			parts = append(parts, id.String()+":"+number(v))
		}
	}
	return strings.Join(parts, ",")
}

// PutPolicy writes a global policy into every bucket. In those that have a newer version it is left.
func (m *Meter) PutPolicy(ctx context.Context, p meter.Policy) error {
	var calls []rueidis.LuaExec
	for _, bucket := range buckets() {
		calls = append(calls, rueidis.LuaExec{Keys: m.policyKeys(bucket), Args: policyArguments(p)})
	}
	for _, reply := range m.policy.ExecMulti(ctx, m.client, calls...) {
		if err := reply.Error(); err != nil {
			return store.Indeterminate(fmt.Errorf("policy %v is not in every bucket: write it again: %w", p.ID(), err))
		}
	}
	return nil
}

// ReplacePolicies writes the global policies into every bucket, whatever versions are there: those of an older dump, or of another
// installation, may be higher. Fences go, too. While it works the gate is closed.
func (m *Meter) ReplacePolicies(ctx context.Context, set meter.PolicySet) error {
	if missing := set.Missing(); len(missing) > 0 {
		return &meter.Refusal{Reason: meter.PoliciesMissing, Detail: fmt.Sprintf("policies %v are not in the ledger: put them, then go on", missing)}
	}
	if err := m.dropGlobals(ctx); err != nil {
		return err
	}
	for _, id := range meter.AllPolicies() {
		if err := m.PutPolicy(ctx, set.Get(id)); err != nil {
			return err
		}
	}
	return nil
}

// dropGlobals takes the global policies out of every bucket, and its fence: those of an older generation, or of another installation, say
// nothing, and their epochs may be higher. Who needs a fence is refused until there is one.
func (m *Meter) dropGlobals(ctx context.Context) error {
	var drop rueidis.Commands
	for _, bucket := range buckets() {
		drop = append(drop, m.client.B().Del().Key(append(m.policyKeys(bucket), m.names.fence(bucket))...).Build())
	}
	for _, reply := range m.client.DoMulti(ctx, drop...) {
		if err := reply.Error(); err != nil {
			return failed("drop the policies, which can be repeated", err)
		}
	}
	return nil
}

// HasPolicies reports whether every bucket has these versions of the global policies, apart from the gate.
func (m *Meter) HasPolicies(ctx context.Context, set meter.PolicySet) (bool, error) {
	stamped := globalStamp(set)
	var ask rueidis.Commands
	for _, bucket := range buckets() {
		ask = append(ask, m.client.B().Hget().Key(m.names.policy(bucket, meter.Gate)).Field(fieldStamp).Build())
	}
	for _, reply := range m.client.DoMulti(ctx, ask...) {
		stamp, err := reply.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return false, store.Unavailable(fmt.Errorf("read the versions of policies: %w", err))
		}
		if stamp != stamped {
			return false, nil
		}
	}
	return true, nil
}

// globalStamp names the versions of the global policies, apart from the gate, as script/policy.lua does.
func globalStamp(set meter.PolicySet) string {
	var versions []string
	for _, id := range meter.AllPolicies() {
		if id != meter.Gate {
			versions = append(versions, number(set.Get(id).Version()))
		}
	}
	return strings.Join(versions, ".")
}

func (m *Meter) policyKeys(bucket string) (keys []string) {
	for _, id := range meter.AllPolicies() {
		keys = append(keys, m.names.policy(bucket, id))
	}
	return keys
}

func policyArguments(p meter.Policy) []string {
	args := []string{p.ID().String(), number(p.Version())}
	for _, f := range p.Fields() {
		args = append(args, f.Name, f.Value)
	}
	return args
}

// PutLinePolicies writes the policies that a line has of its own, in the place of those that it had. Where there is a newer version of one, all are
// left.
func (m *Meter) PutLinePolicies(ctx context.Context, line, family string, set meter.PolicySet) error {
	u := unitOf(line, family)
	args := []string{policiesField(line), stampOf(set)}
	for _, f := range set.LineFields() {
		args = append(args, f.Name, f.Value)
	}
	keys := []string{m.names.linePolicies(u, line), m.names.unit(u), m.store.GenerationKey(u.tag)}
	if err := m.linePuts.Exec(ctx, m.client, keys, args).Error(); err != nil {
		return store.Indeterminate(fmt.Errorf("policies of line %s: write them again: %w", line, err))
	}
	return nil
}

// buckets yields all of them, by number and as they stand in names.
func buckets() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for b := range redisstore.Buckets {
			if !yield(b, fmt.Sprintf("{%04d}", b)) {
				return
			}
		}
	}
}
