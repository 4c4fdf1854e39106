package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/reprise-dev/reprise/meter"
)

// news is a log that is told the same again and again, by whoever tries something until it succeeds, and says it once: when it begins, and
// when it is another trouble.
type news struct {
	mu    sync.Mutex
	heard map[string]trouble // by what it is about
	swept time.Time
}

// trouble is what was heard last of something.
type trouble struct {
	kind string
	at   time.Time
}

// quiet is after how long without a word a trouble is over: longer than the pause between any two tries.
const quiet = 2 * foldEvery

// tell says that something failed, unless that was said. A log that is nil is nobody.
func (n *news) tell(ctx context.Context, log *slog.Logger, what string, err error) {
	if ctx.Err() == nil && log != nil && n.changed(time.Now(), what, kindOf(err)) {
		log.WarnContext(ctx, "meter: "+what, "error", err)
	}
}

// wait says that an event waits: of each kind of reason the first one is named.
func (n *news) wait(ctx context.Context, log *slog.Logger, e meter.Event, err error) {
	if log != nil && n.changed(time.Now(), "an event waits: "+kindOf(err), "") {
		log.WarnContext(ctx, "meter: an event waits", "line", e.Line, "event", e.ID, "why", err)
	}
}

// changed reports whether something is news.
func (n *news) changed(now time.Time, what, kind string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	over := func(_ string, t trouble) bool { return now.Sub(t.at) > quiet }
	if n.heard == nil {
		n.heard = map[string]trouble{}
	}
	if now.Sub(n.swept) > quiet {
		n.swept = now
		maps.DeleteFunc(n.heard, over)
	}
	before, known := n.heard[what]
	n.heard[what] = trouble{kind, now}
	return !known || before.kind != kind || over(what, before)
}

// over says that what there was to tell about something is over: the next time it is news.
func (n *news) over(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.heard, what)
}

// kindOf tells errors apart that say something else: refusals by their reasons, and others by their texts without numbers, which are
// those of a connection or of an attempt.
func kindOf(err error) string {
	var refusal *meter.Refusal
	if errors.As(err, &refusal) {
		return string(refusal.Reason)
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, err.Error())
}
