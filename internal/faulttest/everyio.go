package faulttest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/reprise-dev/reprise/machine"
)

// atMost is about how many I/Os of a scene fail in an ordinary run, however many it has.
const atMost = 8

// onOne is how many plays with everyFault there are on one database. Each may leave a record that is unknown, which every later listing looks at:
// on Redis with a message for each, which is one I/O more to break. On one database for all of a scene the work grew with the square of that.
const onOne = 20

// mostOfAll is how many I/Os of a scene suffer a fault with everyFault, about: they are spread over the scene. Redis keeps what is unknown in a
// thousand places, and a listing asks for each, one like the other: to lose each of these in every way, in every scene that lists, takes hours.
const mostOfAll = 200

// players is how many databases there are to play on at a time: much of it is waiting.
const players = 6

// everyIO plays every scene once without a fault, and then again and again with one I/O suffering a fault:
// the first, the second and so on, until there is no such I/O any more. With everyFault, every I/O suffers every
// fault; of a scene with many more than mostOfAll of them, so many suffer each. Otherwise every other I/O suffers one, or fewer of very many, in turn:
// scenes share most of their I/Os, so that each sort of I/O is lost before and after it was done. Where the turn begins is a matter of the seed.
//
// on opens a database, plays on it and closes it.
func everyIO(ctx context.Context, r reporter, seed uint64, everyFault bool, on stages) {
	on(func(first *troupe) {
		ios := rehearse(ctx, r, first)
		jobs := make(chan job)
		var playing sync.WaitGroup
		var total tally
		for player := range players {
			playing.Go(func() {
				play := func(p *troupe) {
					for j := range jobs {
						p.playAll(ctx, r, j, &total)
					}
				}
				switch {
				case everyFault:
					for j := range jobs {
						on(func(p *troupe) { p.playAll(ctx, r, j, &total) })
					}
				case player == 0:
					play(first)
				default:
					on(play)
				}
			})
		}
		for _, j := range jobsOf(ios, first.subject.Wire.Faults(), seed, everyFault) {
			jobs <- j
		}
		close(jobs)
		playing.Wait()
		total.judge(r, "I/Os have failed")
	})
}

// stages opens a database for somebody, and closes it afterwards.
type stages func(play func(*troupe))

func jobsOf(ios []int, faults []Fault, seed uint64, everyFault bool) (jobs []job) {
	for i, sc := range scenes {
		if everyFault {
			step := max(1, ios[i]/mostOfAll) | 1 // odd, or it would meet the same sort of I/O all the time
			for n, fault := range faults {
				for first := 1 + (n*step/len(faults)+i)%step; first <= ios[i]; first += step * onOne {
					jobs = append(jobs, job{scene: sc, faults: []Fault{fault}, first: first, step: step, last: min(first+step*onOne-1, ios[i])})
				}
			}
			continue
		}
		turn := (int(seed%uint64(len(faults))) + i) % len(faults)
		in := slices.Concat(faults[turn:], faults[:turn])
		const parts = 2
		step := 2 * max(1, ios[i]/atMost)
		for part := range parts {
			jobs = append(jobs, job{scene: sc, faults: in, first: 1 + turn%2 + part*step, step: parts * step, last: ios[i]})
		}
	}
	return jobs
}

// rehearse plays every scene without a fault, and sees that each tells what it is meant to tell, and that all
// together send every command. It returns how many I/Os each has at most: a store that connects anew has more of
// them than one that has connected, and one that does something by itself would never come to an end.
func rehearse(ctx context.Context, r reporter, p *troupe) (ios []int) {
	sent := map[machine.Kind]bool{}
	for _, sc := range scenes {
		run := p.play(ctx, sc, "rehearsal of "+sc.name, 0, 0)
		for try := 2; try <= 3 && !slices.Equal(run.notes, sc.told); try++ { // on a machine that is busy a lease may be lost
			run = p.play(ctx, sc, fmt.Sprintf("rehearsal %d of %s", try, sc.name), 0, 0)
		}
		if run.found != "" {
			r.Errorf("%s: nothing goes wrong, and:\n\t%s", sc.name, run.found)
		}
		if !slices.Equal(run.notes, sc.told) {
			r.Errorf("%s: told %q, want %q", sc.name, run.notes, sc.told)
		}
		for _, kind := range run.sent {
			sent[kind] = true
		}
		ios = append(ios, 2*run.ios+10)
	}
	for kind := machine.KindClaim; kind <= machine.KindForget; kind++ {
		if !sent[kind] {
			r.Errorf("no scene sends the command %v", kind)
		}
	}
	return ios
}

// job is a scene, with every so many-th of its I/Os suffering a fault.
type job struct {
	scene       scene
	faults      []Fault // that they suffer in turn
	first, step int
	last        int // to be broken at most
}

// playAll breaks one I/O after the other.
func (p *troupe) playAll(ctx context.Context, r reporter, j job, total *tally) {
	turns := j.first / 2
	for n := j.first; n <= j.last && ctx.Err() == nil; n += j.step {
		fault := j.faults[turns%len(j.faults)]
		turns++
		run := p.play(ctx, j.scene, fmt.Sprintf("%s/%v/%d", j.scene.name, fault, n), n, fault)
		if run.found != "" {
			r.Errorf("%s, I/O %d is %v:\n\t%s", j.scene.name, n, fault, run.found)
			return
		}
		if !run.struck {
			return
		}
		total.add(1, run.report)
	}
}

// run is what came of playing a scene.
type run struct {
	found  string // empty if nothing was
	report *report
	struck bool // the fault
	ios    int  // of the scene
	notes  []string
	sent   []machine.Kind // commands, by the scene itself
}

// play plays a scene with the n-th I/O suffering a fault.
func (p *troupe) play(ctx context.Context, sc scene, name string, n int, fault Fault) (r run) {
	s := p.newStage(ctx, name, fault)
	p.subject.Wire.Break(n, fault)
	sc.play(s, sc.policy)
	r.ios = p.subject.Wire.IOs()
	if fault == Held || fault == Copied {
		p.subject.Advance(lease) // it comes when nobody reckons with it any more
	}
	p.subject.Wire.Release()
	if fault.fatal() && !s.dead() {
		p.subject.Wire.Break(0, 0) // the scene is over, and nobody has died
	}
	s.calm.Store(!s.dead())
	s.leave()
	r.struck, r.notes = p.subject.Wire.Struck(), slices.Clone(s.notes)
	for _, x := range s.history.exchanges() {
		r.sent = append(r.sent, x.command.Kind())
	}
	dead := s.dead()
	s.gone.Store(dead)
	if dead && p.subject.Died != nil {
		p.use(p.subject.Died())
	}
	s.audit(sc.policy, p, dead, r.struck && fault.copies())
	r.found, r.report = s.report.found(), s.report
	return r
}
