package redisstore

import (
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// errEffectPolicy is the error of an invocation that the machine does not complete.
var errEffectPolicy = errors.New("the invocation makes no sense: its window or how long it is remembered")

// effectForms are the parts of the finished forms of an effect's record, as the script takes them: apart from what these have in common
// before the age. Those of fresh records are the same for all invocations of a kind.
type effectForms struct {
	kind        effectKind
	front, back string // of the form with an answer: before what all have in common, and between its age and the answer
	life        string // of that, empty for the nominal one
	otherwise   string // of the other forms
	flags       uint64 // of the form with an answer
}

// effectKind is what the parts of the forms of a fresh record follow from.
type effectKind struct {
	window, remember, retryable time.Duration
	policy, secret, fingerprint uint32
	interruption                machine.Interruption
}

// formsOf returns the forms for a try: those of the last one, if both are fresh and of one kind, as they usually are.
func (e *Effect) formsOf(t *effectTry, hold machine.Hold) (*effectForms, error) {
	v := t.call.invocation
	kind := effectKind{
		v.Window, v.Remember, v.Retryable, v.Policy, t.begun.Scope.SecretVersion, t.begun.Fingerprint.Version, v.Interruption,
	}
	fresh := len(t.found.packed) == 0 && t.found.birth == anyBirth
	if known := e.known.Load(); fresh && known != nil && known.kind == kind {
		return known, nil
	}
	forms, err := e.newForms(t, hold)
	if err == nil && fresh {
		forms.kind = kind
		e.known.Store(forms)
	}
	return forms, err
}

func (e *Effect) newForms(t *effectTry, hold machine.Hold) (*effectForms, error) {
	v, birth := t.call.invocation, t.found.birth
	refused, _ := machine.Step(t.begun, v.Fail(hold, true, "reason", machine.Response{}), birth.Time())
	abandoned, _ := machine.Step(t.begun, v.Fail(hold, false, "reason", machine.Response{}), birth.Time())
	if refused.State != machine.Retryable {
		return nil, errEffectPolicy
	}
	done, flags := formAround(t.completed, e.held, birth)
	none, _ := formAround(refused, false, birth)
	unknown, _ := formAround(abandoned, false, birth)
	common := commonEnd(done[0], none[0], unknown[0])
	begins := func(form [3]string) string { return strings.TrimSuffix(form[0], common) }
	forms := &effectForms{
		front: begins(done), back: done[1] + done[2], life: lasts(v.Remember), flags: flags,
		otherwise: framed(begins(none), none[1], none[2], lasts(v.Retryable), begins(unknown), unknown[1], unknown[2]),
	}
	if e.held {
		forms.life = ""
	}
	return forms, nil
}

// formAround returns the stored form of a finished record in three parts: before the moment, which is the age that only
// the script will know, before what it will know too, which is a reason or the data of an answer, and the rest; and its flags.
func formAround(r *machine.Record, held bool, birth machine.Instant) (parts [3]string, flags uint64) {
	p := newOpenPacking(r, birth)
	p.held = held
	p.flags |= flagAged
	return [...]string{string(p.front(nil)), string(p.endings(nil)), string(p.last(nil))}, p.flags
}

// commonEnd returns the longest text that all of some end with.
func commonEnd(texts ...string) string {
	end := texts[0]
	for _, text := range texts[1:] {
		for !strings.HasSuffix(text, end) {
			end = end[1:]
		}
	}
	return end
}

// framed writes texts one after the other, each after its length in two bytes.
func framed(texts ...string) string {
	var b []byte
	for _, text := range texts {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
	}
	return string(b)
}

// lasts writes how long a record stays that is remembered for d, as the script takes it.
func lasts(d time.Duration) string { return strconv.FormatInt(livesOn(d), 10) }
