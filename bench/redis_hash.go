package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// hashes keeps a record in a hash, and decides in two scripts that read the generation too.
type hashes struct {
	rueidis.Client
	begin, complete *rueidis.Lua
}

const beginHashByHand = `if redis.call('GET', KEYS[2]) ~= ARGV[1] then return -1 end
local got = redis.call('HMGET', KEYS[1], 'state', 'fingerprint', 'answer')
if got[1] then
	if got[2] ~= ARGV[3] then return -2 end
	return {got[1], got[3], redis.call('PTTL', KEYS[1])}
end
redis.call('HSET', KEYS[1], 'state', '1', 'owner', ARGV[2], 'fingerprint', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`

const completeHashByHand = `if redis.call('GET', KEYS[2]) ~= ARGV[1] then return -1 end
local got = redis.call('HMGET', KEYS[1], 'state', 'owner')
if got[1] ~= '1' or got[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'state', '2', 'answer', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1`

func hashByHand(c rueidis.Client) store.Store {
	return hashes{c, rueidis.NewLuaScript(beginHashByHand), rueidis.NewLuaScript(completeHashByHand)}
}

// Close implements [store.Store].
func (h hashes) Close() error {
	h.Client.Close()
	return nil
}

// Apply implements [store.Store].
func (h hashes) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	keys := []string{keyByHand(command.Target().Digest), generationByHand}
	generation := string(make([]byte, 16))
	life := strconv.FormatInt(lifeByHand.Milliseconds(), 10)
	switch c := command.(type) {
	case machine.Begin:
		owner := c.Owner.Digest()
		n, err := h.begin.Exec(ctx, h.Client, keys, []string{generation, string(owner[:]), string(c.Fingerprints[0].Sum[:]), life}).AsInt64()
		if err == nil && n != 1 {
			err = fmt.Errorf("begin: %d", n)
		}
		return machine.Reply{Outcome: machine.Acquired, Attempt: 1, Revision: 1}, err
	case machine.Complete:
		owner := c.Owner.Digest()
		n, err := h.complete.Exec(ctx, h.Client, keys, []string{generation, string(owner[:]), string(c.Response.Data), life}).AsInt64()
		if err == nil && n != 1 {
			err = fmt.Errorf("complete: %d", n)
		}
		return machine.Reply{Outcome: machine.CompletedNow}, err
	case machine.Inspect:
		fingerprint := machine.Digest{1}
		found, err := h.begin.Exec(ctx, h.Client, keys, []string{generation, "", string(fingerprint[:]), life}).ToArray()
		if err == nil && len(found) != 3 {
			err = errors.New("not an answer")
		}
		return machine.Reply{Outcome: machine.Found}, err
	}
	return machine.Reply{}, fmt.Errorf("hashes does not know %v", command.Kind())
}
