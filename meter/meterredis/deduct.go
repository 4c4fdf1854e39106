package meterredis

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"golang.org/x/sync/errgroup"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// Delivery is an event on its way to be decided.
type Delivery struct {
	Event meter.Event
	// Family is that of the line, as whoever delivers knows it; empty for none. If it is another by now, the decision
	// is refused with [meter.LineMoved] or [meter.UnknownLine].
	Family string
	// Checked says that the done log has no row of the event, and was asked after [Meter.Checks]. An event so old that its record may be
	// forgotten is decided only then; otherwise the error is [ErrUnchecked]. Empty is not asked.
	Checked Checked
}

// Checked is since when a unit has records, as it was before the done log was asked about an event. Where it has changed when the event is
// decided, because the unit was hydrated or lines came to it, the event may have been decided meanwhile, and its record be forgotten.
type Checked string

// Decision is what was decided about an event.
type Decision struct {
	Result   meter.Result
	Replayed bool // it had been decided before
}

// ErrUnchecked is the error of an event whose record may be forgotten: look for its row in the done log. If there is none it
// was never decided.
var ErrUnchecked = errors.New("the event is so old that its record may be forgotten: look for its row")

// Stuck is the error of an event of which nobody knows whether it was counted: its script failed in the middle.
type Stuck struct {
	Digest machine.Digest // of its record
	Reason string
}

// Error implements error.
func (s *Stuck) Error() string {
	return fmt.Sprintf("the deduction of this event failed after it had written something (%s): compare with `reprise meter audit`, then `reprise ops settle %v`", s.Reason, s.Digest)
}

// What the script answers beside the reasons of package meter.
const (
	policiesChanged = "policies_changed"
	unchecked       = "unchecked"
)

// tries is how often an event is decided again because policies have changed meanwhile.
const tries = 10

// Deduct decides an event, once: a second delivery gets the first one's result. An error is a [*meter.Refusal], and
// nothing was changed; [ErrUnchecked]; a [*Stuck]; or one of package store, which says what is known. An event that
// was not refused for good can be delivered again.
func (m *Meter) Deduct(ctx context.Context, d Delivery) (Decision, error) {
	if err := d.Event.Validate(); err != nil {
		return Decision{}, err
	}
	for range tries {
		c := m.deduction(d)
		decision, err := decided(m.deduct.Do(ctx, m.store, c.Invocation, c.Keys, c.Args...))
		if !errors.Is(err, errPoliciesChanged) {
			return decision, err
		}
		if err := m.refresh(ctx, unitOf(d.Event.Line, d.Family), d.Event.Line); err != nil {
			return Decision{}, err
		}
	}
	return Decision{}, store.Unavailable(errors.New("policies change all the time"))
}

// Decided is what [Meter.Deduct] returns.
type Decided struct {
	Decision Decision
	Err      error
}

// DeductAll is [Meter.Deduct] for many deliveries, which are sent together: what was decided about each, in their order.
func (m *Meter) DeductAll(ctx context.Context, deliveries []Delivery) []Decided {
	all := make([]Decided, len(deliveries))
	var calls []redisstore.EffectCall
	var at []int
	for i, d := range deliveries {
		if all[i].Err = d.Event.Validate(); all[i].Err == nil {
			calls, at = append(calls, m.deduction(d)), append(at, i)
		}
	}
	var group errgroup.Group
	group.SetLimit(againAtOnce)
	for n, result := range m.deduct.DoAll(ctx, m.store, calls) {
		i := at[n]
		if all[i].Decision, all[i].Err = decided(result.Effect, result.Err); !errors.Is(all[i].Err, errPoliciesChanged) {
			continue
		}
		group.Go(func() error {
			all[i].Decision, all[i].Err = m.Deduct(ctx, deliveries[i])
			return nil
		})
	}
	_ = group.Wait() // they return nothing
	return all
}

// againAtOnce is how many of many deliveries are decided at once for which other policies hold than was known.
const againAtOnce = 128

// Checks returns what deliveries are to be checked at, in their order: ask it before the done log is asked.
func (m *Meter) Checks(ctx context.Context, deliveries []Delivery) ([]Checked, error) {
	var ask rueidis.Commands
	at := map[string]int{}
	for _, d := range deliveries {
		u := unitOf(d.Event.Line, d.Family)
		if _, asked := at[u.tag]; !asked {
			at[u.tag] = len(ask)
			ask = append(ask, m.client.B().Hget().Key(m.names.unit(u)).Field("since").Build())
		}
	}
	replies, checks := m.client.DoMulti(ctx, ask...), make([]Checked, len(deliveries))
	for i, d := range deliveries {
		since, err := replies[at[unitOf(d.Event.Line, d.Family).tag]].ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			return nil, store.Unavailable(fmt.Errorf("read since when units have records: %w", err))
		}
		checks[i] = Checked("=" + since)
	}
	return checks, nil
}

// deduction is the call of the script that decides a delivery, by the policies that are known.
func (m *Meter) deduction(d Delivery) redisstore.EffectCall {
	u, date := unitOf(d.Event.Line, d.Family), m.calendar.Day(d.Event.At)
	month := m.calendar.MonthOf(date)
	return redisstore.EffectCall{
		Invocation: m.invocation(d.Event, u), Keys: m.keys(d, u, date, month), Args: m.arguments(d, u, date, month, m.policies.of(d.Event.Line)),
	}
}

// decided reads what the script has answered.
func decided(done store.Effect, err error) (Decision, error) {
	if err != nil {
		return Decision{}, understand(err)
	}
	result, err := meter.ParseResult(string(done.Response.Data))
	return Decision{result, done.Replayed}, err
}

// errPoliciesChanged says that others hold by now than those that were applied.
var errPoliciesChanged = errors.New("policies have changed")

// understand translates what an effect has failed with.
func understand(err error) error {
	if failed, ok := errors.AsType[*redisstore.EffectError](err); ok {
		switch {
		case failed.Unknown:
			return &Stuck{failed.Scope.Digest, failed.Reason}
		case failed.Reason == policiesChanged:
			return errPoliciesChanged
		case failed.Reason == unchecked:
			return ErrUnchecked
		case strings.Contains(failed.Reason, "would overflow"):
			return &meter.Refusal{Reason: meter.Overflow, Detail: "a counter of an app would pass its largest value"}
		case strings.HasPrefix(failed.Reason, "effect-error"):
			return store.Unavailable(failed)
		}
		return &meter.Refusal{Reason: meter.Reason(failed.Reason), Detail: "says the state in Redis: look at it with `reprise meter show`"}
	}
	if refused, ok := errors.AsType[*store.Refusal](err); ok {
		switch refused.Reply.Outcome {
		case machine.FingerprintMismatch:
			return &meter.Refusal{Reason: meter.OtherContent, Detail: "this line's event of this id was another: give the event an id of its own"}
		case machine.RecoveryRequired:
			return &Stuck{refused.Scope.Digest, refused.Reply.Reason}
		}
	}
	return err
}

// invocation is that of an event, good for one try.
func (m *Meter) invocation(e meter.Event, u unit) *store.Invocation {
	return invocation(scopeOf(e, u), machine.Digest(e.Digest()), m.horizon.Remembered())
}

// invocation is that of an operation with a content.
func invocation(scope machine.Scope, content machine.Digest, remembered time.Duration) *store.Invocation {
	v := &store.Invocation{
		Candidates:   []store.Candidate{{Scope: scope}},
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: content}},
		Codecs:       []string{redisstore.EffectCodec}, Policy: 1,
		Lease: time.Minute, Window: remembered, Remember: remembered, Retryable: remembered,
	}
	for _, random := range [][]byte{v.Owner[:], v.Operation[:], v.Nonce[:]} {
		_, _ = rand.Read(random) // never fails
	}
	return v
}

// scopeOf is where the record of an event is.
func scopeOf(e meter.Event, u unit) machine.Scope { return scope("deduct", e.Identity(), u) }

// scope is where an operation is recorded: in the bucket of its unit. Its digest is no secret: lines are in the names of keys.
func scope(operation, id string, u unit) machine.Scope {
	digest := sha256.Sum256([]byte("reprise meter\n" + operation + "\n" + id))
	return machine.Scope{Operation: operation, SecretVersion: 1, Digest: store.Tagged(digest, u.tag)}
}

// keys are those that the script touches, in its order.
func (m *Meter) keys(d Delivery, u unit, date meter.Day, month meter.Month) []string {
	line := d.Event.Line
	keys := []string{
		m.names.lineVersion(u, line), m.names.dailyTotal(u, line, date), m.names.unit(u), m.names.policy(u.bucket, meter.Gate),
		m.names.individual(u, line, month), m.names.dailyApp(u, line, date), m.names.dailyShared(u, line, date), m.names.monthlyShared(u, line, month),
	}
	if d.Family != "" {
		keys = append(keys, m.names.familyVersion(u, d.Family), m.names.shared(u, d.Family, month))
	}
	return keys
}

// arguments are those of the script, in its order.
func (m *Meter) arguments(d Delivery, u unit, date meter.Day, month meter.Month, known policiesKnown) []string {
	e := d.Event
	rule := meter.Policies{Calendar: m.calendar, Global: known.global, Line: known.line}.Rule(e.App, e.At)
	return []string{
		string(m.generationOf(u)), known.globalStamp, policiesField(e.Line), known.lineStamp, openedField(month),
		number(e.Bytes), appField(e.App, "individual"), d.Family, "1;d=" + date.String() + ";m=" + month.String(), m.happened(d),
		unusual(rule, m.deadline(d)), movesField(e.Line),
	}
}

// unusual writes what policies say of an event, and until when it is decided; nothing if none says anything.
func unusual(rule meter.Rule, deadline string) string {
	all, slow, speed := "", "", ""
	switch {
	case rule.Blocked:
		all = meter.ByLineBlocked.String()
	case rule.Hours:
		all = meter.ByHours.String()
	case rule.Uncounted:
		all = meter.ByUncounted.String()
	}
	if rule.Slow {
		slow = "slow"
	}
	if rule.Speed > 0 {
		speed = number(rule.Speed)
	}
	const nothing = ",,,,,,"
	if text := strings.Join([]string{all, limit(rule.LineCap), limit(rule.AppCap), limit(rule.SharedCap), slow, speed, deadline}, ","); text != nothing {
		return text
	}
	return ""
}

// limit writes a cap, of which a negative one is none.
func limit(n int64) string {
	if n < 0 {
		return ""
	}
	return number(n)
}

// happened is when the event happened in milliseconds since 1970, or what it was checked at.
func (m *Meter) happened(d Delivery) string {
	if d.Checked != "" {
		return string(d.Checked)
	}
	return number(d.Event.At.UnixMilli())
}

// deadline is until when an event is decided without a look at the done log, in milliseconds since 1970. For one that is young by
// this process' clock, which is right by days, it does not matter, and asking the server's costs something.
func (m *Meter) deadline(d Delivery) string {
	if d.Checked != "" || time.Since(d.Event.At) < m.horizon.Retention/2 {
		return ""
	}
	return number(d.Event.At.Add(m.horizon.Retention).UnixMilli())
}
