package explore

import (
	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// bury drops late commands that can change nothing any more, whenever they arrive.
func (t *turn) bury() {
	for i := 0; i < maxLate && t.late[i] != (order{}); {
		if t.dead(t.late[i]) {
			t.arrive(i)
			continue
		}
		i++
	}
}

// dead reports whether a late command finds nothing to change. A completed record stays as it is. Other
// commands name a revision, and revisions only rise while there is a record; where it can become absent and
// be made again, the numbers come again, but not for an owner that claims no more.
func (t *turn) dead(o order) bool {
	if o.what == completeOther {
		return false // what it is answered is looked at
	}
	r := t.record(&t.world, int(o.candidate))
	switch {
	case r == nil:
		return t.owned(o) && !t.claims(o.from)
	case r.State == machine.Completed:
		return true
	case uint64(max(o.seen, o.revision)) >= r.Revision:
		return false
	}
	return !t.fades || t.owned(o) && !t.claims(o.from)
}

// owned reports whether only the owner of the record can be granted a command.
func (t *turn) owned(o order) bool {
	return o.what != what(flow.Acquire) && o.what != settleHappened && o.what != settleNever
}

// claims reports whether a claim with the caller's owner token can still arrive.
func (t *turn) claims(i uint8) bool {
	for _, o := range t.late {
		if o.what == what(flow.Acquire) && t.sameOwner(o.from, i) {
			return true
		}
	}
	for j := range uint8(len(t.Callers)) {
		c := t.at(j)
		f := t.flowOf(j)
		_, held := f.Held()
		if t.sameOwner(j, i) && !held && c.stage != gone && !c.acted {
			return true
		}
	}
	return false
}

func (t *turn) sameOwner(i, j uint8) bool {
	return i == j || t.invocation(i).Owner == t.invocation(j).Owner
}
