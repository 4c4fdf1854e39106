package faulttest

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"

	"github.com/reprise-dev/reprise"
)

// page is the truth about one key, outside of the store that is tested: what the actions under it did, and
// which answer was given. It judges both, by the promises in docs/guarantees.md.
type page struct {
	report *report
	call   reprise.Call
	rerun  bool // the policy says that the action is safe to run again
	typed  bool // answers are JSON

	mu      sync.Mutex
	running int
	runs    int
	effects int
	answers [][]byte // that may be given: of each effect, or of whoever settled
	given   []byte   // the one that was
	sure    bool     // and the store has confirmed it, or had given it
	decided bool     // somebody settled it with an answer of his own
	past    bool     // the time for which an answer replays is over
	doubt   bool     // an action failed, or its process is gone: nobody needs to know what came of it
}

// begin is called when an action comes to the part that cannot be undone.
func (p *page) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.rerun:
	case p.running > 0:
		p.report.breach("%s: an action runs while another one holds the key", p.call.Key)
	case p.effects > 0:
		p.report.breach("%s: an action runs again after one that had its effect", p.call.Key)
	}
	p.running++
	p.runs++
}

func (p *page) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}

// effect takes effect, and returns the answer that tells of it.
func (p *page) effect() reprise.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects++
	answer := reprise.Response{Data: fmt.Appendf(nil, "effect %d of %s", p.effects, p.call.Key)}
	if p.typed {
		answer = reprise.Response{Codec: reprise.CodecJSON, Data: strconv.AppendQuote(nil, string(answer.Data))}
	}
	p.answers = append(p.answers, answer.Data)
	return answer
}

// doubtful notes that nobody needs to know what came of an action.
func (p *page) doubtful() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.doubt = true
}

// truth returns whether the effect has happened, and its answer.
func (p *page) truth() (answer []byte, happened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.effects == 0 {
		return nil, false
	}
	return p.answers[0], true
}

// settle notes that somebody may have settled the key with an answer of his own.
func (p *page) settle(answer []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers, p.decided = append(p.answers, answer), true
}

// answered judges an answer that a caller was given.
func (p *page) answered(answer []byte, sure bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := false
	for _, one := range p.answers {
		known = known || bytes.Equal(one, answer)
	}
	switch {
	case !known:
		p.report.breach("%s: the answer %q is none that any action gave", p.call.Key, answer)
	case p.decided && !p.sure: // what was given was marked as not recorded, and was not what the settler said
	case p.given != nil && !bytes.Equal(p.given, answer):
		p.report.breach("%s: the answer %q after the answer %q was given", p.call.Key, answer, p.given)
	}
	p.given, p.sure = answer, p.sure || sure
}

// confirmed reports whether the key has an answer that the store has confirmed.
func (p *page) confirmed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sure
}

// expired notes that answers replay no more.
func (p *page) expired() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.past = true
}

// forgotten notes that the key is as new: the time for which it is remembered is over.
func (p *page) forgotten() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.effects, p.answers, p.given, p.sure, p.decided, p.past, p.doubt = 0, nil, nil, false, false, false, false
}
