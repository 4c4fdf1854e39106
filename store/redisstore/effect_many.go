package redisstore

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// EffectCall is one of many calls of an effect: what [Effect.Do] takes.
type EffectCall struct {
	Invocation *store.Invocation
	Keys, Args []string
}

// EffectResult is what came of it: what [Effect.Do] returns.
type EffectResult struct {
	Effect store.Effect
	Err    error
}

// manyAtOnce is how many calls are sent together: so many that a packet is full, and so few that others on the connection do not wait.
const manyAtOnce = 128

// DoAll is [Effect.Do] for many calls, each by itself, and returns what came of each, in their order. They are sent together, which costs less than as
// many goroutines do.
func (e *Effect) DoAll(ctx context.Context, s *Store, calls []EffectCall) []EffectResult {
	results := make([]EffectResult, len(calls))
	if err := s.enter(ctx); err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	defer s.leave()
	for from := 0; from < len(calls); from += manyAtOnce {
		to := min(from+manyAtOnce, len(calls))
		e.together(ctx, s, calls[from:to], results[from:to])
	}
	return results
}

// together sends calls at once. Those that this does not answer are made one by one, each as if it were alone.
func (e *Effect) together(ctx context.Context, s *Store, calls []EffectCall, results []EffectResult) {
	commands, tries, at := make(rueidis.Commands, 0, len(calls)), make([]*effectTry, 0, len(calls)), make([]int, 0, len(calls))
	var alone sync.WaitGroup
	insist := func(i int, doubt error) {
		alone.Go(func() {
			if len(calls[i].Invocation.Candidates) == 0 {
				results[i].Err = store.Unavailable(errNoCandidate)
				return
			}
			results[i].Effect, results[i].Err = e.insist(ctx, s, calls[i].Invocation, calls[i].Keys, calls[i].Args, doubt)
		})
	}
	for i, call := range calls {
		t, ok := e.try(s, call)
		if !ok {
			insist(i, nil)
			continue
		}
		keys, args := t.words()
		commands = append(commands, s.client.B().Evalsha().Sha1(e.digestOn(s)).Numkeys(int64(len(keys))).Key(keys...).Arg(args...).Build())
		tries, at = append(tries, t), append(at, i)
	}
	since := s.server()
	for n, reply := range s.client.DoMulti(ctx, commands...) {
		result, err, answered := tries[n].answer(ctx, reply)
		if answered {
			err = s.confirm(ctx, tries[n].call.target.bucket, since, err)
		}
		switch {
		case errors.Is(err, store.ErrIndeterminate):
			insist(at[n], s.notice(ctx, tries[n].call.target.bucket, err))
		case !answered:
			insist(at[n], nil)
		default:
			results[at[n]] = EffectResult{result, err}
		}
	}
	alone.Wait()
}

// try is the first try of a call, under the only key that it names. ok is false if more is to be looked at before.
func (e *Effect) try(s *Store, call EffectCall) (t *effectTry, ok bool) {
	if len(call.Invocation.Candidates) != 1 {
		return nil, false
	}
	c := &effectCall{effect: e, store: s, invocation: call.Invocation, keys: call.Keys, args: call.Args}
	begin := call.Invocation.Begin(0, 0)
	c.target = newTarget(s, begin.Scope.Digest)
	if c.invalid(begin) != "" || c.target.generation == (machine.Generation{}) {
		return nil, false
	}
	t, err := c.begin(begin)
	return t, err == nil
}

// answer reads the reply to a try. answered is false if the effect was not made, or nobody knows; then another try finds out.
func (t *effectTry) answer(ctx context.Context, reply rueidis.RedisResult) (_ store.Effect, _ error, answered bool) {
	message, err := reply.ToMessage()
	if err != nil {
		return store.Effect{}, sent(ctx, err), false
	}
	state, text, expiry, age, kind := readEffect(message)
	if kind != effectRan {
		return store.Effect{}, nil, false
	}
	result, _, err := t.ended(state, text, expiry, age)
	return result, err, true
}
