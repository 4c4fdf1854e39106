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

type fingerprint [2]uint64

// search goes breadth first, so that a violation is found on a shortest way.
type search struct {
	*model
	seeds   [2]maphash.Seed
	visited map[fingerprint]struct{}
	nodes   []node
	level   []world // of this depth
	next    []world // of the next
	first   uint32  // the number of level[0]
}

// Explore visits every world of a setting, at most limit of them. It returns a *[Violation] for the first
// promise that is broken.
//
// Worlds are told apart by a hash of 128 bits.
func Explore(s Setting, step Step, limit int) (Report, error) {
	x := &search{model: newModel(s, step), visited: map[fingerprint]struct{}{}}
	x.seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	report := Report{Verdicts: x.model.verdicts, Outcomes: x.model.outcomes}
	x.visit(world{}, node{})
	x.level, x.next = x.next, nil
	var list []event
	for len(x.level) > 0 {
		for n := range x.level {
			w := &x.level[n]
			list = x.events(w, list)
			for _, e := range list {
				t := x.happen(w, e)
				if t.idle && t.broken == "" {
					continue
				}
				report.Events++
				if t.broken == "" && x.visit(t.world, node{x.first + uint32(n), e}) {
					if i := x.stuck(&t.world); i >= 0 {
						t.broken = fmt.Sprintf("caller %d cannot reach its end any more", i)
					}
				}
				if t.broken != "" {
					report.Worlds = len(x.nodes)
					return report, &Violation{t.broken, x.trace(x.first+uint32(n), e)}
				}
			}
		}
		report.Worlds, report.Depth = len(x.nodes), report.Depth+1
		if len(x.nodes) > limit {
			return report, fmt.Errorf("%w: more than %d", ErrTooMany, limit)
		}
		x.first += uint32(len(x.level))
		x.level, x.next = x.next, x.level[:0]
	}
	return report, nil
}

// visit notes a world, and reports whether it is new.
func (x *search) visit(w world, n node) bool {
	print := fingerprint{maphash.Comparable(x.seeds[0], w), maphash.Comparable(x.seeds[1], w)}
	if _, known := x.visited[print]; known {
		return false
	}
	x.visited[print] = struct{}{}
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
