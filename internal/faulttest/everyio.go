package faulttest

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// players is how many databases there are to play on at a time: much of it is waiting.
const players = 6

// everyIO plays every scene once without a fault, and then again and again with one I/O suffering a fault:
// the first, the second and so on, until there is no such I/O any more. With everyFault, every I/O suffers every
// fault. Otherwise every other I/O suffers one, in turn: scenes share most of their I/Os, so that each sort
// of I/O is lost before and after it was done. Where the turn begins is a matter of the seed.
func everyIO(ctx context.Context, r reporter, seed uint64, everyFault bool, open func() *troupe) {
	all := []*troupe{open()}
	rehearse(ctx, r, all[0])
	for len(all) < players {
		all = append(all, open())
	}
	jobs := make(chan job)
	var playing sync.WaitGroup
	var total tally
	for _, p := range all {
		playing.Go(func() {
			for j := range jobs {
				total.add(p.playAll(ctx, r, j))
			}
		})
	}
	faults := all[0].subject.Wire.Faults()
	for i, sc := range scenes {
		if everyFault {
			for _, fault := range faults {
				jobs <- job{scene: sc, faults: []Fault{fault}, first: 1, step: 1}
			}
			continue
		}
		turn := (int(seed%uint64(len(faults))) + i) % len(faults)
		in := slices.Concat(faults[turn:], faults[:turn])
		for part := range 2 {
			jobs <- job{scene: sc, faults: in, first: 1 + turn%2 + 2*part, step: 4}
		}
	}
	close(jobs)
	playing.Wait()
	r.Logf("%d I/Os of %d scenes have failed", total.sum, len(scenes))
}

// tally adds up.
type tally struct {
	mu  sync.Mutex
	sum int
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum += n
}

// rehearse plays every scene without a fault, and sees that each tells what it is meant to tell.
func rehearse(ctx context.Context, r reporter, p *troupe) {
	for _, sc := range scenes {
		found, _, notes := p.play(ctx, sc, "rehearsal of "+sc.name, 0, 0)
		if found != "" {
			r.Errorf("%s: nothing goes wrong, and:\n\t%s", sc.name, found)
		}
		if !slices.Equal(notes, sc.told) {
			r.Errorf("%s: told %q, want %q", sc.name, notes, sc.told)
		}
	}
}

// job is a scene, with every so many-th of its I/Os suffering a fault.
type job struct {
	scene       scene
	faults      []Fault // that they suffer in turn
	first, step int
}

// playAll breaks one I/O after the other, and returns how many.
func (p *troupe) playAll(ctx context.Context, r reporter, j job) (broken int) {
	for n := j.first; ctx.Err() == nil; n += j.step {
		fault := j.faults[n/2%len(j.faults)]
		found, struck, _ := p.play(ctx, j.scene, fmt.Sprintf("%s/%v/%d", j.scene.name, fault, n), n, fault)
		if found != "" {
			r.Errorf("%s, I/O %d is %v:\n\t%s", j.scene.name, n, fault, found)
			return broken
		}
		if !struck {
			return broken
		}
		broken++
	}
	return broken
}

// play plays a scene with the n-th I/O suffering a fault. It returns what was found, whether the fault
// struck, and what was noted.
func (p *troupe) play(ctx context.Context, sc scene, name string, n int, fault Fault) (found string, struck bool, notes []string) {
	s := p.newStage(ctx, name, fault)
	p.subject.Wire.Break(n, fault)
	sc.play(s, sc.policy)
	if fault == Held || fault == Copied {
		p.subject.Advance(lease) // it comes when nobody reckons with it any more
	}
	p.subject.Wire.Release()
	if fault.fatal() && !s.dead() {
		p.subject.Wire.Break(0, 0) // the scene is over, and nobody has died
	}
	s.calm.Store(!s.dead())
	s.leave()
	struck, notes = p.subject.Wire.Struck(), slices.Clone(s.notes)
	dead := s.dead()
	if dead && p.subject.Died != nil {
		p.use(p.subject.Died())
	}
	s.audit(sc.policy, p, dead, struck && fault.copies())
	return s.report.found(), struck, notes
}
