package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// Directory knows which lines and apps there are, and which family a line is in. It asks the ledger, and remembers for a while:
// where that was wrong the script says so, and whoever was told forgets it.
type Directory struct {
	ledger *meterledger.Ledger
	keep   time.Duration

	mu    sync.Mutex
	lines map[string]listed
	apps  map[string]bool
	asked time.Time // for the apps
	// generation is that of Redis in which lines were remembered.
	generation meter.Generation
}

type listed struct {
	line  meterledger.Line
	known bool
	asked time.Time
}

// directorySize bounds the lines that are remembered. They are forgotten together.
const directorySize = 1_000_000

// knownFor is for how much longer a line is remembered that is there: lines are not removed, and a script says so where one has
// moved. One that is not there may be imported any moment.
const knownFor = 60

// NewDirectory returns a directory that remembers for a time what is not there.
func NewDirectory(ledger *meterledger.Ledger, keep time.Duration) *Directory {
	return &Directory{ledger: ledger, keep: keep, lines: map[string]listed{}}
}

// In says which generation Redis is in: families of lines that were remembered in another one are forgotten. A script says where a line has moved
// only as long as the mark is there that the move has left, and a hydration leaves none. While it is not known, which is empty, they are kept.
// Whoever asks for lines says it first.
func (d *Directory) In(g meter.Generation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g == "" || d.generation == g {
		return
	}
	d.generation, d.lines = g, map[string]listed{}
}

// Lines returns those lines that there are.
func (d *Directory) Lines(ctx context.Context, now time.Time, lines ...string) (map[string]meterledger.Line, error) {
	found, missing := d.remembered(now, lines)
	if len(missing) == 0 {
		return found, nil
	}
	read, err := d.ledger.Lines(ctx, missing)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.lines) > directorySize {
		d.lines = map[string]listed{}
	}
	for _, id := range missing {
		line, known := read[id]
		d.lines[id] = listed{line, known, now}
		if known {
			found[id] = line
		}
	}
	return found, nil
}

func (d *Directory) remembered(now time.Time, lines []string) (found map[string]meterledger.Line, missing []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found = map[string]meterledger.Line{}
	for _, id := range lines {
		entry, ok := d.lines[id]
		switch {
		case ok && entry.known && now.Sub(entry.asked) <= knownFor*d.keep:
			found[id] = entry.line
		case !ok || entry.known || now.Sub(entry.asked) > d.keep:
			missing = append(missing, id)
		}
	}
	return found, missing
}

// Forget makes the next question about a line go to the ledger.
func (d *Directory) Forget(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.lines, line)
}

// HasApp reports whether there is an app.
func (d *Directory) HasApp(ctx context.Context, now time.Time, app string) (bool, error) {
	d.mu.Lock()
	known, fresh := d.apps[app], now.Sub(d.asked) <= d.keep && d.apps != nil
	d.mu.Unlock()
	if fresh {
		return known, nil
	}
	all, err := d.ledger.Apps(ctx)
	if err != nil {
		return false, err
	}
	apps := make(map[string]bool, len(all))
	for _, a := range all {
		apps[a] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apps, d.asked = apps, now
	return apps[app], nil
}
