package faulttest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/faultnet"
)

// Trouble befalls a whole server while callers are busy.
type Trouble struct {
	Name string
	// Begin makes it happen, and returns when it has. End ends it, and returns when the server is well
	// again. The handles stay open all the time.
	Begin, End func()
	// Mute: commands that were sent get no answer meanwhile, and may be done when it is over. It is kept
	// up for longer than a lease.
	Mute bool
	// Slow: it takes a while to be felt. Random histories leave it out.
	Slow bool
}

// Server is a server of a test's own that can be harmed, as internal/servicetest has them.
type Server interface {
	Kill()
	Stop()
	Restart()
	Pause()
	Resume()
}

// OfServer are the troubles of every server.
func OfServer(s Server) []Trouble {
	return []Trouble{
		{Name: "killed", Begin: s.Kill, End: s.Restart},
		{Name: "stopped", Begin: s.Stop, End: s.Restart},
		{Name: "paused", Begin: s.Pause, End: s.Resume, Mute: true},
	}
}

// OfDisk is the trouble of a server whose disk is full.
func OfDisk(s interface {
	FillDisk()
	FreeDisk()
}) []Trouble {
	return []Trouble{{Name: "disk full", Begin: s.FillDisk, End: s.FreeDisk, Slow: true}}
}

// OfNet are the troubles of every network.
func OfNet(p *faultnet.Proxy) []Trouble {
	return []Trouble{
		{Name: "refused", Begin: func() { p.Refuse(); p.CutAll() }, End: p.Restore},
		{Name: "black hole", Begin: p.BlackHole, End: p.Restore, Mute: true},
	}
}

// The times of those who live through a trouble. Leases are real: they end while a server is mute.
const (
	hardLease   = 1200 * time.Millisecond
	hardTimeout = 300 * time.Millisecond
	breath      = 20 * time.Millisecond // between two calls of one caller
)

// crowd are callers that go on calling, each under one new key after the other.
const crowd = 4

// endure lets callers be busy while a trouble begins and until it is over. Meanwhile they get honest errors,
// in time; afterwards everything works again, and what was promised holds.
func (p *troupe) endure(ctx context.Context, tr Trouble) *report {
	p.subject.Wire.Break(0, 0)
	policy := reprise.Policy{Lease: hardLease, CommandTimeout: hardTimeout}
	s := p.newStage(ctx, tr.Name, 0)
	var now atomic.Int64 // a phase
	s.history.phase = func() phase { return phase(now.Load()) }
	e := &endurance{stage: s, guard: s.guard(policy), policy: policy, phase: s.history.phase, told: make(chan hearing, 1000)}
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for caller := range crowd {
		callers.Go(func() { e.call(caller, stop) })
	}
	e.wait("nothing had gone wrong, and", func(t hearing) bool { return t.err == nil })
	holding, released := e.hold()

	now.Store(int64(harmed))
	tr.Begin()
	e.wait("it harmed nobody:", func(t hearing) bool { return errors.Is(t.err, reprise.ErrUnavailable) && t.began == harmed })
	if tr.Mute {
		e.until("nobody was told that his lease is over", released)
	}
	tr.End()
	now.Store(int64(mending))
	e.wait("it is over, and", func(t hearing) bool { return t.err == nil && t.began == mending })
	close(holding)

	close(stop)
	callers.Wait()
	e.long.Wait()
	s.leave()
	s.audit(policy, p, false, tr.Mute)
	return s.report
}

// endurance is what is common to the callers of one trouble.
type endurance struct {
	*stage
	guard  *reprise.Guard
	policy reprise.Policy
	phase  func() phase
	told   chan hearing
	long   sync.WaitGroup

	mu     sync.Mutex
	shared map[string]*page
}

// hearing is what one of the crowd was told.
type hearing struct {
	caller int
	began  phase
	err    error
}

// page returns the page of a key that two callers share: each makes its calls at about the same time.
func (e *endurance) page(caller, n int) *page {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := fmt.Sprint(caller/2, "/", n)
	if e.shared[name] == nil {
		if e.shared == nil {
			e.shared = map[string]*page{}
		}
		e.shared[name] = e.key(e.policy, name)
	}
	return e.shared[name]
}

// call makes one call after the other, each under a new key, and sends it again.
func (e *endurance) call(caller int, stop <-chan struct{}) {
	for n := 0; ; n++ {
		k := e.page(caller, n)
		for try := range 3 {
			began := e.phase()
			err := e.send(e.guard, k, lingering).err
			select {
			case e.told <- hearing{caller, began, err}:
			case <-stop:
				return
			}
			if !pause(e.ctx, breath) || err == nil && try > 0 {
				break
			}
		}
		select {
		case <-stop:
			return
		default:
		}
	}
}

// lingering takes its time before it answers, so that duplicates meet it.
func lingering(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error) {
	pause(ctx, breath/4)
	return answering(ctx, run, p)
}

// wait waits until every one of the crowd was told what fulfils a condition.
func (e *endurance) wait(otherwise string, condition func(hearing) bool) {
	late := time.NewTimer(e.patience)
	defer late.Stop()
	met := map[int]bool{}
	for len(met) < crowd {
		select {
		case t := <-e.told:
			if condition(t) {
				met[t.caller] = true
			}
		case <-late.C:
			e.report.breach("%s only %d of %d callers were told so in %v", otherwise, len(met), crowd, e.patience)
			return
		}
	}
}

func (e *endurance) until(otherwise string, event <-chan struct{}) {
	late := time.NewTimer(e.patience)
	defer late.Stop()
	for {
		select {
		case <-event:
			return
		case <-e.told: // nobody is to wait for us
		case <-late.C:
			e.report.breach("%s in %v", otherwise, e.patience)
			return
		}
	}
}

// hold begins an action that goes on until it is let go, or until it is told that its lease is over. It
// returns when the action runs.
func (e *endurance) hold() (letGo chan struct{}, lost <-chan struct{}) {
	letGo, over, runs := make(chan struct{}), make(chan struct{}), make(chan struct{})
	begun := false
	e.long.Go(func() {
		// On a machine that is busy it may take several tries. Each has its own key: one whose start was not answered in time
		// is unknown in the end.
		for try := 0; !begun && !closed(letGo) && pause(e.ctx, breath); try++ {
			e.send(e.guard, e.key(e.policy, fmt.Sprint("held/", try)), func(ctx context.Context, run *reprise.Run, p *page) (reprise.Response, error) {
				begun = true
				close(runs)
				select {
				case <-letGo:
					return answering(ctx, run, p)
				case <-ctx.Done():
					if !errors.Is(context.Cause(ctx), reprise.ErrLeaseLost) {
						e.report.breach("an action was ended by %v", context.Cause(ctx))
					}
					close(over)
					return vain(ctx, run, p)
				}
			})
		}
	})
	e.until("an action did not begin", runs)
	return letGo, over
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
