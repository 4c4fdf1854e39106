package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Difference is something that is not as the done log and the grants say.
type Difference struct {
	meterledger.Difference
	// Unit is the name of the unit that it is of; empty of what is of none.
	Unit string
	// Key is the key in Redis that differs; empty if it is a row in SQL, or all of a unit that Redis has lost something of.
	Key string
	// Want is what the key should hold, and Seen what it does. Kind says in one word what is wrong with it.
	Want, Seen meterredis.Content
	Kind       string
	// Counter is the key that counts the changes at which it was judged; empty if no event changes it.
	Counter string
	// passing differences may go away by themselves: what makes them right is under way.
	passing bool
}

// What may be wrong with a key.
const (
	KindMissing = "missing" // it is not there
	KindExtra   = "extra"   // it should not be there
	KindType    = "type"    // it is of another type
	KindValue   = "value"   // its text, or a field of it, is another one, missing or too much
	KindExpiry  = "expiry"  // it expires at another time, or never, or should not
)

// differenceOf returns the difference of a key; nil if there is none.
func differenceOf(key string, is, want meterredis.Content, counter string) *Difference {
	if is.Same(want) {
		return nil
	}
	d := &Difference{Key: key, Want: want, Seen: is, Counter: counter}
	switch {
	case is.Type == meterredis.TypeNone:
		d.Kind = KindMissing
	case want.Type == meterredis.TypeNone:
		d.Kind = KindExtra
	case is.Type != want.Type:
		d.Kind = KindType
	case !is.SameValue(want):
		d.Kind = KindValue
	default:
		d.Kind = KindExpiry
	}
	// The flusher lets a key expire a moment after its rows are in SQL.
	d.passing = d.Kind == KindExpiry && is.Expires.IsZero()
	d.Difference = meterledger.Difference{Where: key + " in Redis", Is: is.String(), Should: want.String()}
	return d
}

// verdict is what a look at a unit has found.
type verdict struct {
	tag         string
	late        bool // nobody can tell yet
	differences []Difference
	behind      map[string]int64 // lines of which Redis has fewer changes than SQL: how many
	ahead       int64            // changes of lines that SQL does not have
}

// passing reports whether all that was found may go away by itself.
func (v verdict) passing() bool {
	for _, d := range v.differences {
		if !d.passing {
			return false
		}
	}
	return true
}

// same reports whether another look has found the same.
func (v verdict) same(o verdict) bool {
	if v.late != o.late || len(v.differences) != len(o.differences) {
		return false
	}
	for i, d := range v.differences {
		if d.Difference != o.differences[i].Difference {
			return false
		}
	}
	return true
}

// comparison is of one unit.
type comparison struct {
	*expected
	members       meterredis.Members
	keys          meterredis.Keys
	before, after map[string]meterledger.Changes // around the look at Redis
	generation    meter.Generation
	wanted        []expectation
	is            map[string]meterredis.Content
}

// look reads all keys of the unit.
func (c *comparison) look(ctx context.Context) (err error) {
	c.wanted = c.of(c.members, c.keys)
	ask := []meterredis.Wanted{{Key: c.keys.Unit(), Type: meterredis.TypeHash}}
	for _, owner := range owners([]meterredis.Members{c.members}) {
		ask = append(ask, meterredis.Wanted{Key: c.counter(owner), Type: meterredis.TypeString})
	}
	for _, w := range c.wanted {
		ask = append(ask, meterredis.Wanted{Key: w.key, Type: w.content.Type})
	}
	c.is, err = c.Meter.Contents(ctx, ask)
	return err
}

// counter is the key that counts the changes of an owner.
func (c *comparison) counter(owner string) string {
	if owner == "" {
		return ""
	}
	if owner[0] == 'f' {
		return c.keys.FamilyVersion(owner[2:])
	}
	return c.keys.LineVersion(owner[2:])
}

// judge says what is to be said of the unit. Where nothing decides it is compared as it is; else only at numbers of changes of which SQL has
// every single one.
func (c *comparison) judge() verdict {
	v := verdict{tag: c.keys.Tag(), behind: map[string]int64{}}
	for _, line := range c.members.Lines {
		owner := meter.UnitTag(line, "")
		if has, should := c.number(owner), c.after[owner].Count; has < should {
			v.behind[line] = has
		} else {
			v.ahead += has - should
		}
	}
	if !c.still() && c.underWay() {
		v.late = true
		return v
	}
	lost := map[string]bool{} // owners of which Redis has fewer changes than SQL
	for _, owner := range owners([]meterredis.Members{c.members}) {
		lost[owner] = c.number(owner) < c.after[owner].Count
	}
	byOwner := map[string][]Difference{}
	for _, w := range c.wanted {
		if d := differenceOf(w.key, c.is[w.key], w.content, c.counter(w.owner)); d != nil {
			d.passing = d.passing || w.owner == "" // policies are in SQL first
			byOwner[w.owner] = append(byOwner[w.owner], *d)
		}
	}
	v.differences = append(v.differences, byOwner[""]...)
	for _, owner := range owners([]meterredis.Members{c.members}) {
		counter := c.counter(owner)
		d := differenceOf(counter, c.is[counter], meterredis.Text(digits(c.after[owner].Count), time.Time{}), counter)
		if lost[owner] && !c.still() && len(byOwner[owner]) > 0 {
			v.differences = append(v.differences, c.lost(owner))
			continue
		}
		v.differences = append(v.differences, byOwner[owner]...)
		if d != nil && !(d.Kind == KindMissing && c.fresh(owner)) {
			v.differences = append(v.differences, *d)
		}
	}
	return c.judgeUnit(v)
}

// lost is the difference of an owner of which SQL has changes that Redis does not: no key of it can be put right alone.
func (c *comparison) lost(owner string) Difference {
	return Difference{Difference: meterledger.Difference{
		Where: "changes of " + owner + " in Redis", Is: digits(c.number(owner)), Should: fmt.Sprintf("%d, of which SQL has rows: Redis has lost some; restore it", c.after[owner].Count),
	}}
}

// judgeUnit adds what is wrong with the unit's own key, last: whoever puts keys right opens the unit after all others. A unit that is
// not complete has no keys to be put right one by one, unless nothing decides meanwhile.
func (c *comparison) judgeUnit(v verdict) verdict {
	key := c.keys.Unit()
	is := c.is[key]
	if is.Type == meterredis.TypeNone && c.allFresh() {
		return v
	}
	if !c.still() && strings.HasPrefix(is.Fields["open"], "0") {
		v.differences = append(v.differences, Difference{passing: true, Difference: meterledger.Difference{
			Where: "unit " + v.tag + " in Redis", Is: "closed", Should: "open: a line that moves closes it; move that line again, or restore",
		}})
	}
	d := differenceOf(key, is, c.unit(c.members, c.generation, is), "")
	if d == nil {
		return v
	}
	whole := is.Fields["generation"] == string(c.generation) && is.Fields["phase"] == "3"
	if !whole && !c.still() && len(v.differences) > 0 {
		what := fmt.Sprintf("at phase %q of generation %q", is.Fields["phase"], is.Fields["generation"])
		v.differences = []Difference{{Difference: meterledger.Difference{
			Where: "unit " + v.tag + " in Redis", Is: what, Should: fmt.Sprintf("complete in generation %q: restore it", c.generation),
		}}}
		return v
	}
	d.passing = whole // a move closes it for a moment, and a grant opens months
	v.differences = append(v.differences, *d)
	return v
}

// underWay reports whether nothing can be said yet.
func (c *comparison) underWay() bool {
	if c.isNew() {
		return true // the keeper lets it in
	}
	for _, owner := range owners([]meterredis.Members{c.members}) {
		before, after := c.before[owner], c.after[owner]
		switch number := c.number(owner); {
		case before.Count != after.Count || after.Unconfirmed > 0 || number > after.Highest:
			return true
		case !after.GapFree():
			return true // a row in the middle is under way, or was lost: nobody can tell yet
		}
	}
	return false
}

// isNew reports whether nothing of the unit was ever in Redis, and grants of it are on their way.
func (c *comparison) isNew() bool {
	waiting := false
	for _, owner := range owners([]meterredis.Members{c.members}) {
		waiting = waiting || c.after[owner].Unconfirmed > 0
	}
	return waiting && c.is[c.keys.Unit()].Type == meterredis.TypeNone && c.allFresh()
}

// fresh reports whether nothing of an owner was ever in Redis: it was added since, and the keeper lets it in with its first grant.
func (c *comparison) fresh(owner string) bool {
	for _, g := range c.grants[owner] {
		if g.Confirmed() {
			return false
		}
	}
	return c.after[owner].Count == 0
}

func (c *comparison) allFresh() bool {
	for _, owner := range owners([]meterredis.Members{c.members}) {
		if !c.fresh(owner) {
			return false
		}
	}
	return true
}

// number is how many changes Redis has made to an owner. What is no number is none.
func (c *comparison) number(owner string) int64 {
	var n int64
	if _, err := fmt.Sscan(c.is[c.counter(owner)].Text, &n); err != nil {
		return 0
	}
	return n
}
