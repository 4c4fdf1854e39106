package reprise

import (
	"context"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/internal/flow"
)

// pacemaker says when the runs of a guard renew their leases. One timer serves them all: an action that is
// over before its first beat costs two visits to a list.
type pacemaker struct {
	mu          sync.Mutex
	first, last *heart // by the time of their next beat
	timer       *time.Timer
	set         time.Time // when the timer fires; zero: it is not running
}

// heart is a run's place with the pacemaker, which guards it.
type heart struct {
	run        *Run
	due        time.Time
	prev, next *heart
	listed     bool
	stopped    bool
	abort      context.CancelFunc // of the renewal in flight
}

// schedule lets a heart beat at a time, unless it was stopped.
func (p *pacemaker) schedule(h *heart, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.stopped {
		return
	}
	p.remove(h)
	h.due = due
	p.insert(h)
	if p.first == h {
		p.wind()
	}
}

// insert puts a heart in its place. Leases of a guard are of one length, so that is mostly the end.
func (p *pacemaker) insert(h *heart) {
	before := p.last
	for before != nil && before.due.After(h.due) {
		before = before.prev
	}
	h.listed, h.prev = true, before
	if before == nil {
		h.next, p.first = p.first, h
	} else {
		h.next, before.next = before.next, h
	}
	if h.next == nil {
		p.last = h
	} else {
		h.next.prev = h
	}
}

func (p *pacemaker) remove(h *heart) {
	if !h.listed {
		return
	}
	if h.prev == nil {
		p.first = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next == nil {
		p.last = h.prev
	} else {
		h.next.prev = h.prev
	}
	h.listed, h.prev, h.next = false, nil, nil
}

// wind sets the timer for the first heart. A timer that fires early for nobody costs less than setting it
// anew for every run.
func (p *pacemaker) wind() {
	if p.first == nil || !p.set.IsZero() && !p.set.After(p.first.due) {
		return
	}
	p.set = p.first.due
	wait := time.Until(p.set)
	if p.timer == nil {
		p.timer = time.AfterFunc(wait, p.beat)
	} else {
		p.timer.Reset(wait)
	}
}

// beat lets every heart beat whose time has come.
func (p *pacemaker) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.set = time.Time{}
	for now := time.Now(); p.first != nil && !p.first.due.After(now); {
		h := p.first
		p.remove(h)
		go h.run.beat()
	}
	p.wind()
}

// stop ends a heart. A renewal in flight is cut short: the recording that follows finds out whether it
// arrived.
func (p *pacemaker) stop(h *heart) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(h)
	h.stopped = true
	if h.abort != nil {
		h.abort()
	}
}

// renewing returns the context of a renewal, unless the heart was stopped.
func (p *pacemaker) renewing(h *heart) (context.Context, context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.stopped {
		return nil, nil
	}
	var ctx context.Context
	ctx, h.abort = context.WithCancel(context.Background())
	return ctx, h.abort
}

// beat renews the lease, or finds that it cannot be shown to be held any more.
func (r *Run) beat() {
	if !r.mu.TryLock() {
		// A late start is under way, or the action has ended.
		r.beatIn(r.Lease / 20)
		return
	}
	defer r.mu.Unlock()
	ctx, abort := r.guard.pacemaker.renewing(&r.heart)
	if ctx == nil {
		return
	}
	defer abort()
	d := r.flow.Beat(r.now())
	if d.Verb == flow.Send {
		// A renewal that hangs must not keep the action from being told that the lease is over.
		ctx, giveUp := context.WithTimeout(ctx, d.For)
		defer giveUp()
		reply, failure := r.apply(ctx, r.command(d))
		if failure != nil {
			d = r.flow.BeatFailed(r.now(), *failure)
		} else {
			d = r.flow.BeatReplied(r.now(), reply)
		}
	}
	switch d.Verb {
	case flow.Idle:
		r.beatIn(d.For)
	case flow.Cancel:
		r.context.cancel(ErrLeaseLost)
	}
}

func (r *Run) beatIn(d time.Duration) {
	r.guard.pacemaker.schedule(&r.heart, time.Now().Add(d))
}
