package restore

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// toy restores units into a system in memory. Each unit has a value, which phase 0 sets and phases 1 and 2 add to: so a
// unit that a phase was done for twice has another value.
type toy struct {
	name   string
	digest string
	units  []string
	size   int // of a target
	target *system
	// sick are units that phase 1 cannot do, and why.
	sick map[string]error
	// fail may return an error for a call.
	fail func(call string) error
	// wrong is a unit whose value phase 2 gets wrong, so that it has to be corrected.
	wrong string
	// lacks is how many units Expect counts that Targets does not list.
	lacks int64
	// lastFirst gives later targets a lower priority.
	lastFirst bool
	// unready is what Ready says.
	unready error
}

// system is what is restored into.
type system struct {
	mu         sync.Mutex
	generation string
	fence      int64 // 0: there is none
	open, held bool
	units      map[string]*unit
	applied    []application
}

type unit struct {
	phase int // that it has reached
	value int
}

// application is one phase of one unit, done once.
type application struct {
	unit       string
	phase      int
	generation string
}

func newToy(name string, units, size int) *toy {
	p := &toy{name: name, digest: "d1", size: size, target: &system{units: map[string]*unit{}, open: true}}
	for i := range units {
		p.units = append(p.units, fmt.Sprintf("u%05d", i))
	}
	return p
}

func (p *toy) Describe() Description {
	return Description{Name: p.name, Digest: p.digest, Configuration: "toy " + p.digest, Phases: []string{"base", "totals", "log"}, Retention: 24 * time.Hour}
}

// enter locks the system, unless the call fails.
func (p *toy) enter(ctx context.Context, call string) (func(), error) {
	if p.fail != nil {
		if err := p.fail(call); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, store.Unavailable(err)
	}
	p.target.mu.Lock()
	return p.target.mu.Unlock, nil
}

// fenced enters if the fence is the system's.
func (p *toy) fenced(ctx context.Context, call string, f Fence) (func(), error) {
	leave, err := p.enter(ctx, call)
	if err != nil {
		return nil, err
	}
	late := f.Epoch != 0 && (p.target.fence == 0 || f.Epoch < p.target.fence) // epoch 0 is of a verification alone
	if late || f.Generation != p.target.generation {
		defer leave()
		return nil, fmt.Errorf("%w: %s with %v, and the system has epoch %d of %q", ErrFenced, call, f, p.target.fence, p.target.generation)
	}
	return leave, nil
}

func (p *toy) Generation(ctx context.Context) (string, error) {
	leave, err := p.enter(ctx, "generation")
	if err != nil {
		return "", err
	}
	defer leave()
	return p.target.generation, nil
}

func (p *toy) CloseGate(ctx context.Context, _ Fence) error {
	leave, err := p.enter(ctx, "close")
	if err != nil {
		return err
	}
	defer leave()
	p.target.open, p.target.held = false, true
	return nil
}

func (p *toy) Drain(ctx context.Context, _ Fence) error {
	leave, err := p.enter(ctx, "drain")
	if err == nil {
		leave()
	}
	return err
}

func (p *toy) Renew(ctx context.Context, f Fence) error {
	leave, err := p.enter(ctx, "renew")
	if err != nil {
		return err
	}
	defer leave()
	if f.Epoch < p.target.fence {
		return ErrFenced
	}
	if p.target.generation != f.Generation {
		p.target.generation, p.target.units = f.Generation, map[string]*unit{}
	}
	return nil
}

func (p *toy) WriteFence(ctx context.Context, f Fence) error {
	leave, err := p.enter(ctx, "fence")
	if err != nil {
		return err
	}
	defer leave()
	if f.Epoch < p.target.fence {
		return ErrFenced
	}
	p.target.fence = f.Epoch
	return nil
}

func (p *toy) Expect(ctx context.Context, _ int) (int64, error) {
	leave, err := p.enter(ctx, "expect")
	if err != nil {
		return 0, err
	}
	defer leave()
	return int64(len(p.units)) + p.lacks, nil
}

func (p *toy) Targets(ctx context.Context, _ int, after string, limit int) (all []Target, last bool, err error) {
	leave, err := p.enter(ctx, "targets")
	if err != nil {
		return nil, false, err
	}
	defer leave()
	for chunk := range slices.Chunk(p.units, p.size) {
		if chunk[0] < after {
			continue
		}
		if len(all) == limit {
			return all, false, nil
		}
		part := p.part(chunk)
		if p.lastFirst {
			part.Priority = -int64(slices.Index(p.units, part.From))
		}
		all = append(all, part)
	}
	return all, true, nil
}

func (*toy) part(units []string) Target {
	return Target{From: units[0], To: units[len(units)-1] + "~", Units: int64(len(units))}
}

func (p *toy) in(t Target) []string {
	from, _ := slices.BinarySearch(p.units, t.From)
	to, _ := slices.BinarySearch(p.units, t.To)
	return p.units[from:to]
}

func (p *toy) Split(_ context.Context, _ int, t Target) ([]Target, error) {
	units := p.in(t)
	if len(units) < 2 {
		return nil, nil
	}
	middle := units[len(units)/2]
	return []Target{{t.From, middle, int64(len(units) / 2), t.Priority}, {middle, t.To, int64(len(units) - len(units)/2), t.Priority}}, nil
}

func (p *toy) value(name string, phase int) int {
	if phase == 2 && name == p.wrong {
		return 7
	}
	return []int{1, 10, 100}[phase]
}

func (p *toy) Apply(ctx context.Context, phase int, t Target, f Fence) (d Done, err error) {
	leave, err := p.fenced(ctx, fmt.Sprintf("apply %d", phase), f)
	if err != nil {
		return d, err
	}
	defer leave()
	for _, name := range p.in(t) {
		if err := p.sick[name]; err != nil && phase == 1 {
			return d, fmt.Errorf("unit %s: %w", name, err)
		}
		u := p.target.units[name]
		if u == nil {
			u = &unit{}
			p.target.units[name] = u
		}
		switch {
		case u.phase > phase:
			d.Skipped++
			continue
		case u.phase < phase && p.sick[name] == nil:
			return d, fmt.Errorf("unit %s is at phase %d, and this is %d", name, u.phase, phase)
		case u.phase < phase:
			d.Skipped++ // it stays behind
			continue
		}
		u.phase, u.value = phase+1, u.value+p.value(name, phase)
		p.target.applied = append(p.target.applied, application{name, phase, f.Generation})
		d.Units++
	}
	return d, nil
}

func (p *toy) Verify(ctx context.Context, t Target, f Fence) (d Done, found []Finding, err error) {
	leave, err := p.fenced(ctx, "verify", f)
	if err != nil {
		return d, nil, err
	}
	defer leave()
	for _, name := range p.in(t) {
		d.Units++
		u := p.target.units[name]
		switch {
		case p.sick[name] != nil:
			found = append(found, Finding{Kind: "unit", Item: name, Outcome: Quarantined})
		case u == nil:
			found = append(found, Finding{Kind: "unit", Item: name, Outcome: Missing})
		case u.value != 111:
			found = append(found, Finding{Kind: "unit", Item: name, Outcome: Different, Detail: fmt.Sprint(u.value)})
		}
	}
	return d, found, nil
}

func (p *toy) Correct(ctx context.Context, found Finding, f Fence, keep Keep) (c Correction, err error) {
	leave, err := p.fenced(ctx, "correct", f)
	if err != nil {
		return c, err
	}
	defer leave()
	u := p.target.units[found.Item]
	if u == nil || fmt.Sprint(u.value) != found.Detail && u.value != 111 {
		return Correction{Outcome: Skipped, Detail: "it has changed"}, nil
	}
	if err := keep(ctx, []byte(found.Detail)); err != nil {
		return c, err
	}
	u.value = 111
	return Correction{Outcome: Corrected}, nil
}

func (p *toy) Undo(ctx context.Context, found Finding, old []byte, f Fence) (c Correction, err error) {
	leave, err := p.fenced(ctx, "undo", f)
	if err != nil {
		return c, err
	}
	defer leave()
	u := p.target.units[found.Item]
	if u == nil || u.value != 111 {
		return Correction{Outcome: Corrected, Detail: "it has changed"}, nil
	}
	_, err = fmt.Sscan(string(old), &u.value)
	return Correction{Outcome: Undone}, err
}

func (p *toy) CleanUp(ctx context.Context, f Fence) error {
	leave, err := p.fenced(ctx, "clean", f)
	if err == nil {
		leave()
	}
	return err
}

func (p *toy) OpenGate(ctx context.Context, f Fence) error {
	leave, err := p.fenced(ctx, "open", f)
	if err != nil {
		return err
	}
	defer leave()
	p.target.open, p.target.held = true, false
	return nil
}

// Ready implements [Plan].
func (p *toy) Ready(context.Context) error { return p.unready }

func (p *toy) Abandon(ctx context.Context, _ Fence) error {
	leave, err := p.enter(ctx, "abandon")
	if err != nil {
		return err
	}
	defer leave()
	p.target.held = false
	return nil
}

// wipe is what a FLUSHALL does.
func (s *system) wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation, s.fence, s.units, s.open = "", 0, map[string]*unit{}, false
}
