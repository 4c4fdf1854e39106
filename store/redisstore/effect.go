package redisstore

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

//go:embed script/effect.lua
var effectLua string

//go:embed script/effect_whole.lua
var effectWholeLua string

//go:embed script/effect_decided.lua
var effectDecidedLua string

// EffectCodec is that of an effect's answer: its bytes, as they are.
const EffectCodec = "raw/1"

// Effect is a change of data in Redis that is made once for each key, in one step with its record. Make one with
// [NewEffect] or [NewDecidedEffect], once for a program. It may be used by several goroutines.
type Effect struct {
	name    string
	script  *rueidis.Lua
	older   *rueidis.Lua // for servers older than Redis 7
	digest  [2]string    // of both
	decided bool         // the record is written once
	held    bool
	empty   machine.Response
	known   *atomic.Pointer[effectForms] // of the last fresh record
}

// NewEffect returns an effect whose work is done by a fragment of Lua. The fragment sees KEYS and ARGV, which are
// those of [Effect.Do], and redis.call and redis.pcall. It returns its answer, a text or a number. Or, before it
// has written anything, it returns noEffect(reason): then the key can be tried again. An error before its first
// write is the same. After it nobody can undo what was written: the key is abandoned, with the error as
// its reason, until somebody settles it. Reading commands that the script does not know count as writes.
//
//	redisstore.NewEffect("charge", `
//		local left = tonumber(redis.call('GET', KEYS[1]) or '0')
//		if left < tonumber(ARGV[1]) then
//			return noEffect('insufficient funds')
//		end
//		return redis.call('DECRBY', KEYS[1], ARGV[1])
//	`)
//
// The fragment must not return from outside of its own functions otherwise, and like every script in Redis it
// must end soon: nobody else is served meanwhile. A fragment that has SELECT in it is refused: the record would be written
// to the other database, too. Numbers in Lua are exact up to 2^53, also those that Redis returns: what may be larger is left to
// commands such as INCRBY, and answered as the text that GET returns.
func NewEffect(name, fragment string) (*Effect, error) {
	if strings.TrimSpace(name) == "" || strings.TrimSpace(fragment) == "" {
		return nil, errors.New("an effect needs a name and a fragment of Lua")
	}
	if err := oneDatabase(name, fragment); err != nil {
		return nil, err
	}
	return makeEffect(name, false, effectWholeLua, 0, "fragment", fragment)
}

// errNoCandidate is the error of an invocation without a key.
var errNoCandidate = errors.New("the invocation names no key: prepare it with the guard")

// on returns the script for the servers of a store.
func (e *Effect) on(s *Store) *rueidis.Lua {
	if s.older {
		return e.older
	}
	return e.script
}

// digestOn returns by what the servers of a store know the script.
func (e *Effect) digestOn(s *Store) string {
	if e.on(s) == e.older {
		return e.digest[1]
	}
	return e.digest[0]
}

// Held returns the effect with answers that do not expire before [Store.Release] was told that they may: for whoever has to
// keep them elsewhere first. The reply to an effect that was made does not say when. Everything else of it is the same.
func (e *Effect) Held() *Effect {
	held := *e
	held.held, held.known = true, new(atomic.Pointer[effectForms])
	return &held
}

// Do makes the effect under the key of an invocation, which the guard prepares, and records its answer; all of it
// or, up to the effect's first write, nothing. If the key has an answer, that is returned, and nothing is
// done. keys are those that the effect touches. All of them are in the bucket of the call's tag: see [Bucket].
//
// A reply that is lost is found out by sending the same once more, as often as ctx allows and until the store is closed: the record is
// what keeps the effect from being made twice. An [*EffectError] says that the effect was not made, or that nobody
// knows; a [*store.Refusal] that the record refuses; the errors of a store say what they always do.
func (e *Effect) Do(ctx context.Context, s *Store, invocation *store.Invocation, keys []string, args ...string) (store.Effect, error) {
	if err := s.enter(ctx); err != nil {
		return store.Effect{}, err
	}
	defer s.leave()
	if len(invocation.Candidates) == 0 {
		return store.Effect{}, store.Unavailable(errNoCandidate)
	}
	return e.insist(ctx, s, invocation, keys, args, nil)
}

// insist makes the effect, and asks again after a reply that was lost. doubt is the error of an earlier try that may have made it, whatever
// is known of the last.
func (e *Effect) insist(ctx context.Context, s *Store, invocation *store.Invocation, keys, args []string, doubt error) (store.Effect, error) {
	for pause := time.Millisecond; ; pause = min(2*pause, time.Second) {
		since := s.server()
		result, err := e.once(ctx, s, invocation, keys, args)
		for _, c := range invocation.Candidates {
			err = s.confirm(ctx, bucketOf(c.Scope.Digest), since, err)
		}
		err = s.notice(ctx, bucketOf(invocation.Candidates[0].Scope.Digest), err)
		switch {
		case errors.Is(err, store.ErrIndeterminate):
			doubt = err
		case err != nil && moving(err):
		case doubt == nil || !errors.Is(err, store.ErrUnavailable):
			return result, err
		case errors.Is(err, store.ErrLost):
			return store.Effect{}, fmt.Errorf("%w; asked again: %v", doubt, err) //nolint:errorlint // it is in doubt, and not lost
		}
		select {
		case <-time.After(pause/2 + rand.N(pause)):
			continue
		case <-ctx.Done():
		case <-s.life.Done(): // Close waits for this
		}
		if doubt != nil {
			err = doubt
		}
		return store.Effect{}, err
	}
}

// EffectError is the error of an effect that has no answer.
type EffectError struct {
	Effect string
	Scope  machine.Scope
	// Unknown says that the effect has written something before it failed: the key is abandoned until somebody
	// settles it. Otherwise nothing was written, and the key can be tried again.
	Unknown bool
	// Reason is what the effect gave as one, or its error.
	Reason string
}

// Error implements error.
func (e *EffectError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("effect %s failed after it had written something (%s): look with `reprise ops show %v`", e.Effect, e.Reason, e.Scope.Digest)
	}
	return fmt.Sprintf("effect %s was not made: %s", e.Effect, e.Reason)
}

// once asks one candidate after the other, as [store.Invocation.Decide] does.
func (e *Effect) once(ctx context.Context, s *Store, v *store.Invocation, keys, args []string) (store.Effect, error) {
	barred := machine.Reply{Outcome: machine.Barred}
	for i := range v.Candidates {
		c := &effectCall{effect: e, store: s, invocation: v, candidate: i, keys: keys, args: args}
		result, reply, err := c.run(ctx)
		if err != nil || reply.Outcome != machine.Barred {
			return result, err
		}
		barred = reply
	}
	return v.Answered(len(v.Candidates)-1, barred)
}
