package meterrestore

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// conn is a connection of somebody who changes Redis by hand.
type conn struct {
	*plant
	do func(words ...string) any
}

func (p *plant) conn() conn {
	p.t.Helper()
	c, err := p.server.Dial(p.server.AdminDSN(1))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = c.Close() })
	return conn{p, func(words ...string) any {
		p.t.Helper()
		reply, err := c.Do(words...)
		if err != nil {
			p.t.Fatalf("%v: %v", words, err)
		}
		return reply
	}}
}

// hash returns the fields of a hash.
func (c conn) hash(key string) map[string]string {
	all := map[string]string{}
	reply := c.do("HGETALL", key).([]any)
	for i := 0; i < len(reply); i += 2 {
		all[reply[i].(string)] = reply[i+1].(string)
	}
	return all
}

// another is another value of the same length.
func another(value string) string {
	last := value[len(value)-1]
	next := byte('1')
	if last == '1' {
		next = '2'
	}
	return value[:len(value)-1] + string(next)
}

// damage is something that may have happened to a key.
type damage struct {
	class string
	key   string
	do    func()
}

// damages are all that may happen to one key of every kind.
func (c conn) damages(m *meterredis.Meter) (all []damage) {
	add := func(class, key string, words ...string) {
		all = append(all, damage{class, key, func() { c.do(words...) }})
	}
	for _, key := range c.kinds(m) {
		add("missing key", key, "DEL", key)
		all = append(all, damage{"wrong type", key, func() {
			c.do("DEL", key)
			c.do("RPUSH", key, "x")
		}})
		if ttl := c.do("PTTL", key).(int64); ttl > 0 {
			add("missing expiry", key, "PERSIST", key)
			add("wrong expiry", key, "PEXPIRE", key, strconv.FormatInt(ttl-60_000, 10))
		} else {
			add("extra expiry", key, "PEXPIRE", key, "5000000")
		}
		if c.do("TYPE", key) == "string" {
			add("wrong value of the same length", key, "SET", key, another(c.do("GET", key).(string)), "KEEPTTL")
			add("no number", key, "SET", key, "x", "KEEPTTL")
			continue
		}
		fields := c.hash(key)
		for _, field := range slices.Sorted(maps.Keys(fields)) {
			value := another(fields[field])
			if field == "since" { // SQL knows between which instants it is
				value = "1000000000000"
			}
			add("wrong value of the same length in "+field, key, "HSET", key, field, value)
			if len(fields) > 1 {
				add("missing field "+field, key, "HDEL", key, field)
			}
		}
		add("extra field", key, "HSET", key, "something", "1")
	}
	return all
}

// kinds are keys of every kind that has contents which SQL knows.
func (c conn) kinds(m *meterredis.Meter) []string {
	found := map[string]string{}
	for _, word := range c.do("KEYS", "*").([]any) {
		key := word.(string)
		name, ours := m.Parse(key)
		if !ours || name.Kind == meterredis.KindIntake || name.Kind == meterredis.KindDead || name.Kind == meterredis.KindFence {
			continue
		}
		kind := string(name.Kind)
		if name.Policy > 0 {
			kind += fmt.Sprint(name.Policy)
		}
		if name.Kind == meterredis.KindUnit || name.Kind == meterredis.KindVersion {
			kind += strconv.FormatBool(name.Family != "")
		}
		if there := found[kind]; there == "" || key < there {
			found[kind] = key
		}
	}
	return slices.Sorted(maps.Values(found))
}

// extras are keys that nobody expects.
func (c conn) extras(now time.Time) (all []damage) {
	old, next := meter.Calendar{}.Day(now.AddDate(0, -2, 0)), meter.Calendar{}.Day(now.AddDate(0, 0, 9))
	lone, family := meterredis.UnitBucket("line-1", ""), meterredis.UnitBucket("", "family-0")
	for _, key := range []string{
		"daily_total_usage:" + lone + ":line-1:" + old.String(),
		"daily_total_usage:" + lone + ":line-1:" + next.String(),
		"daily_total_usage:" + lone + ":nobody:" + old.String(),
		"daily_total_usage:{0001}:line-1:" + meter.Calendar{}.Day(now).String(),
		"daily_shared_usage:" + lone + ":line-1:" + meter.Calendar{}.Day(now).String(),
		"remaining_shared_amount:" + family + ":line-1:" + meter.Calendar{}.Month(now).String(),
		"version:" + family + ":l:line-1", "version:" + lone + ":f:nobody", "unit:{0001}:l:line-1", "unit:" + lone + ":l:nobody",
		"policy:" + lone + ":9", "policy:" + lone + ":l:line-1", "policy:" + lone + ":l:nobody", "intake:{0001}", "fence:x", "unit:x", "fence:{0001}",
	} {
		all = append(all, damage{"extra key", key, func() { c.do("SET", key, "x") }})
	}
	return all
}

// found are the findings of a verification alone, by item.
func (p *plant) check(r *restore.Runner, correct bool) (map[string]restore.Outcome, restore.Checked) {
	p.t.Helper()
	found := map[string]restore.Outcome{}
	done, err := r.Check(p.t.Context(), restore.CheckRequest{Who: "test", Why: "a test", Correct: correct, Found: func(f restore.Finding) { found[f.Item] = f.Outcome }})
	if err != nil {
		p.t.Fatal(err)
	}
	return found, done
}

// Damage of every class to a key of every kind is found, nothing else is; it is put right and verified, and undone it is as it was. What
// looks as if something were under way is not corrected. In an ordinary run one of nine damages to each key is done, by chance.
func TestDamageOfEveryClass(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		stop := p.work()
		p.send(p.events(100))
		if _, err := p.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
			t.Fatal(err)
		}
		p.send(p.events(60))
		if _, err := p.ledger.PutPolicy(t.Context(), "line-2", meter.LineCap, 0, []meter.Field{{Name: "cap", Value: "1000000"}}, "test"); err != nil {
			t.Fatal(err)
		}
		policies, err := p.ledger.Policies(t.Context(), []string{"line-2"})
		p.must(err)
		p.must(p.meter.PutLinePolicies(t.Context(), "line-2", "family-0", policies.Lines["line-2"]))
		stop()
		p.damageAll()
	})
}

func (p *plant) damageAll() {
	p.t.Helper()
	plan := p.plan()
	plan.Patience = 200 * time.Millisecond
	r := restore.New(p.sessions(), plan, restore.Options{Name: "test"})
	if found, done := p.check(r, true); len(found) > 0 || done.Units != 12 {
		p.t.Fatalf("on clean data: %v, %+v", found, done)
	}
	c := p.conn()
	clean := p.contents()
	step := 1
	if !proving() {
		step = 9
	}
	all := batches(append(c.damages(p.meter), c.extras(time.Now())...))
	for n := rand.IntN(step); n < len(all); n += step {
		batch := all[n]
		p.damaged(r, c, batch, clean)
	}
	if found, _ := p.check(r, false); len(found) > 0 {
		p.t.Errorf("in the end: %v", found)
	}
}

// batches are damages that are done together: one to a key, and those to what others are judged by alone.
func batches(all []damage) (batches [][]damage) {
	nth := map[string]int{}
	together := map[string][][]damage{}
	for _, d := range all {
		group, _, _ := strings.Cut(d.key, ":")
		if group != "version" && group != "unit" || strings.HasPrefix(d.class, "extra key") {
			group = "others"
		}
		n := nth[d.key]
		if nth[d.key]++; n == len(together[group]) {
			together[group] = append(together[group], nil)
		}
		together[group][n] = append(together[group][n], d)
	}
	return slices.Concat(together["unit"], together["version"], together["others"])
}

// damaged does a batch, and wants it found, put right, and undone.
func (p *plant) damaged(r *restore.Runner, c conn, batch []damage, clean map[string]meterredis.Content) {
	p.t.Helper()
	for _, d := range batch {
		defer c.putBack(d.key)()
		d.do()
	}
	damaged := p.contents()
	found, done := p.check(r, true)
	hidden := 0
	for _, d := range batch {
		switch {
		case found[d.key] == restore.Corrected:
		case strings.HasPrefix(d.key, "version:") && strings.HasPrefix(d.class, "wrong value"):
			hidden++ // a number that is too high looks like what SQL does not have yet: it is found, and left
		default:
			p.t.Errorf("%v: %q", d, found[d.key])
		}
	}
	if len(found) != len(batch) || done.Findings[restore.Unflushed] != int64(hidden) {
		p.t.Errorf("%v: found %v", batch, found)
	}
	if hidden > 0 {
		return
	}
	if diff := difference(clean, p.contents()); diff != "" {
		p.t.Errorf("%v: corrected, it is not as it was: %s", batch, diff)
	}
	undone, left, err := r.Undo(p.t.Context(), 0, func(restore.Finding) {})
	if diff := difference(damaged, p.contents()); err != nil || undone != int64(len(batch)) || left != 0 || diff != "" {
		p.t.Errorf("%v: undone %d, left %d, %v: %s", batch, undone, left, err, diff)
	}
}

// putBack returns what makes a key again what it is now.
func (c conn) putBack(key string) func() {
	dump, expires := c.do("DUMP", key), c.do("PEXPIRETIME", key).(int64)
	return func() {
		c.do("DEL", key)
		if text, there := dump.(string); there {
			c.do("RESTORE", key, strconv.FormatInt(max(expires, 0), 10), text, "ABSTTL")
		}
	}
}

// contents are all keys of the meter. Of those that are the same in every bucket one bucket is enough.
func (p *plant) contents() map[string]meterredis.Content {
	p.t.Helper()
	all := map[string]meterredis.Content{}
	p.must(p.meter.EachKey(p.t.Context(), func(key string) error {
		name, ours := p.meter.Parse(key)
		if !ours || name.Policy > 0 && name.Bucket != "{0000}" {
			return nil
		}
		content, err := p.meter.Content(p.t.Context(), key)
		all[key] = content
		return err
	}))
	return all
}

// difference says which keys differ, in what can be compared.
func difference(want, got map[string]meterredis.Content) string {
	var all []string
	for _, all := range []map[string]meterredis.Content{want, got} {
		for _, content := range all {
			delete(content.Fields, "since") // of which there is more than one that is right
		}
	}
	for key := range want {
		if w, g := want[key], got[key]; w.Type != g.Type || w.Text != g.Text || !maps.Equal(w.Fields, g.Fields) || !w.SameExpiry(g) {
			all = append(all, fmt.Sprintf("%s is %v, was %v", key, g, w))
		}
	}
	for key := range got {
		if _, was := want[key]; !was {
			all = append(all, fmt.Sprintf("%s is %v, was not there", key, got[key]))
		}
	}
	return strings.Join(all, "; ")
}

func (d damage) String() string { return d.class + " of " + d.key }

// sessions are in the database of the ledger.
func (p *plant) sessions() *restore.Sessions {
	p.t.Helper()
	if _, err := restore.Migrate(p.t.Context(), p.dsn); err != nil {
		p.t.Fatal(err)
	}
	sessions, err := restore.Open(p.t.Context(), p.dsn, 8)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { p.must(sessions.Close()) })
	return sessions
}

func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
