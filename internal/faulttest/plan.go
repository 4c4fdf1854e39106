package faulttest

import (
	"math/rand/v2"
	"sync"
)

// Plan says what goes wrong with which I/O. It is most of a [Wire]: one embeds it, and asks [Plan.Next] at
// each I/O. Make one with [NewPlan].
type Plan struct {
	faults, storm []Fault

	mu      sync.Mutex
	next    func(n int) Fault
	count   int
	struck  bool
	release chan struct{} // closed by Release
}

// NewPlan returns a plan by which nothing goes wrong. It knows some faults; storm are those of a storm.
func NewPlan(faults, storm []Fault) *Plan {
	return &Plan{faults: faults, storm: storm, next: breaking(0, 0), release: make(chan struct{})}
}

// Faults implements [Wire].
func (p *Plan) Faults() []Fault { return p.faults }

// Break implements [Wire].
func (p *Plan) Break(n int, fault Fault) { p.follow(breaking(n, fault)) }

// Storm implements [Wire].
func (p *Plan) Storm(seed uint64, oneOf int) { p.follow(storming(seed, oneOf, p.storm)) }

func (p *Plan) follow(next func(n int) Fault) {
	p.Release()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next, p.count, p.struck, p.release = next, 0, false, make(chan struct{})
}

// IOs implements [Wire].
func (p *Plan) IOs() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count
}

// Struck implements [Wire].
func (p *Plan) Struck() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.struck
}

// Release lets go what waits for the channel that [Plan.Next] returned.
func (p *Plan) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.release:
	default:
		close(p.release)
	}
}

// Next counts an I/O and says what goes wrong with it, 0 for nothing. What is held waits for the channel.
func (p *Plan) Next() (fault Fault, release <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	fault = p.next(p.count)
	p.struck = p.struck || fault != 0
	return fault, p.release
}

// breaking lets the n-th I/O suffer a fault, and all after it if that was the end.
func breaking(n int, fault Fault) func(int) Fault {
	return func(i int) Fault {
		switch {
		case n > 0 && i == n:
			return fault
		case n > 0 && i > n && fault.fatal():
			return Died
		}
		return 0
	}
}

// storming lets one I/O of so many suffer one of some faults.
func storming(seed uint64, oneOf int, faults []Fault) func(int) Fault {
	choice := rand.New(rand.NewPCG(seed, 0))
	return func(int) Fault {
		if choice.IntN(oneOf) != 0 {
			return 0
		}
		return faults[choice.IntN(len(faults))]
	}
}
