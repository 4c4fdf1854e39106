package reprise

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestPacemakerKeepsItsOrder adds and removes hearts at random and compares the list with what it must be.
func TestPacemakerKeepsItsOrder(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	p, start := &pacemaker{}, time.Now().Add(time.Hour)
	hearts := make([]*heart, 20)
	for i := range hearts {
		hearts[i] = &heart{}
	}
	for range 5000 {
		h := hearts[random.IntN(len(hearts))]
		switch {
		case h.stopped:
			*h = heart{}
		case random.IntN(4) == 0:
			p.stop(h)
		default:
			p.schedule(h, start.Add(time.Duration(random.IntN(10))*time.Minute))
		}
		listed := 0
		for at := p.first; at != nil; at = at.next {
			if listed++; listed > len(hearts) || at.stopped || at.next != nil && (at.next.due.Before(at.due) || at.next.prev != at) {
				t.Fatal("out of order")
			}
			if at.next == nil && p.last != at {
				t.Fatal("the end is lost")
			}
		}
		for _, h := range hearts {
			if h.listed {
				listed--
			}
		}
		if listed != 0 {
			t.Fatalf("%d hearts too many in the list", listed)
		}
		if p.first != nil && (p.set.IsZero() || p.set.After(p.first.due)) {
			t.Fatal("the timer fires after the first heart is due")
		}
	}
	p.timer.Stop()
}
