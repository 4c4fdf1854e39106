package explore

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/reprise-dev/reprise/internal/flow"
	"github.com/reprise-dev/reprise/machine"
)

// Report is what an exploration came to.
type Report struct {
	Worlds int // different ones that were visited
	Events int // that led from one to another
	Depth  int // of the longest shortest way to one
	// Verdicts and Outcomes count what callers were told, and what the machine answered to different
	// commands on different records.
	Verdicts map[flow.Verdict]int
	Outcomes map[machine.Outcome]int
}

// Violation is a promise that was broken, and the shortest way to it.
type Violation struct {
	Promise string
	Trace   []string
}

// Error tells the promise and the way.
func (v *Violation) Error() string {
	return v.Promise + "\n  " + strings.Join(v.Trace, "\n  ")
}

// ErrTooMany is returned when a setting has more worlds than were allowed.
var ErrTooMany = errors.New("too many worlds")

// node is how a world was reached.
type node struct {
	parent uint32
	event  event
}

// hash tells worlds apart.
type hash [2]uint64

// search goes breadth first, so that a violation is found on a shortest way.
type search struct {
	*model
	seeds   [2]maphash.Seed
	visited map[hash]struct{}
	nodes   []node
	level   []world // of this depth
	next    []world // of the next
	first   uint32  // the number of level[0]
	depth   int
	count   int     // of events
	list    []event // room for those of one world
}

// Explore visits every world of a setting, at most limit of them. It returns a *[Violation] for the first
// promise that is broken.
//
// Worlds are told apart by a hash of 128 bits.
func Explore(s Setting, step Step, limit int) (Report, error) {
	x := &search{model: newModel(s, step), visited: map[hash]struct{}{}}
	x.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	x.visit(world{}, node{})
	for depth := 0; len(x.next) > 0; depth++ {
		x.first += uint32(len(x.level))
		x.level, x.next = x.next, x.level[:0]
		for n := range x.level {
			if err := x.expand(uint32(n)); err != nil {
				return x.report(depth), err
			}
		}
		if len(x.nodes) > limit {
			return x.report(depth), fmt.Errorf("%w: more than %d", ErrTooMany, limit)
		}
		x.depth = depth
	}
	return x.report(x.depth), nil
}

func (x *search) report(depth int) Report {
	return Report{Worlds: len(x.nodes), Events: x.count, Depth: depth, Verdicts: x.model.verdicts, Outcomes: x.model.outcomes}
}

// expand visits what can follow the n-th world of the level.
func (x *search) expand(n uint32) error {
	w := &x.level[n]
	x.list = x.events(w, x.list)
	for _, e := range x.list {
		t := x.happen(w, e)
		if t.idle && t.broken == "" {
			continue
		}
		x.count++
		if t.broken == "" && x.visit(t.world, node{x.first + n, e}) {
			if i := x.stuck(&t.world); i >= 0 {
				t.breaks("caller %d cannot reach its end any more", i)
			}
		}
		if t.broken != "" {
			return &Violation{t.broken, x.trace(x.first+n, e)}
		}
	}
	return nil
}

// visit notes a world, and reports whether it is new.
func (x *search) visit(w world, n node) bool {
	mark := hash{maphash.Comparable(x.seeds[0], w), maphash.Comparable(x.seeds[1], w)}
	if _, known := x.visited[mark]; known {
		return false
	}
	x.visited[mark] = struct{}{}
	x.nodes = append(x.nodes, n)
	x.next = append(x.next, w)
	return true
}

// trace tells the way to a world, and the event after it, by going it again.
func (x *search) trace(n uint32, last event) []string {
	way := []event{last}
	for ; n != 0; n = x.nodes[n].parent {
		way = append(way, x.nodes[n].event)
	}
	var lines []string
	w := world{}
	for i := len(way) - 1; i >= 0; i-- {
		t := x.happen(&w, way[i])
		lines = append(lines, x.tell(&w, way[i], &t.world))
		w = t.world
	}
	return lines
}
