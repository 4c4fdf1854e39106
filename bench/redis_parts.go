package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// onRedis makes a part of something that needs a server.
func onRedis(run func(ctx context.Context, s settings, t *table, r *redisServer) error) func(context.Context, settings, *table) error {
	return func(ctx context.Context, s settings, t *table) (err error) {
		r, err := startRedis(ctx, servicetest.PersistNothing, packedByHand)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.close()) }()
		return run(ctx, s, t, r)
	}
}

// benchRedisSize measures what a completed record takes of Redis' memory, tables of keys included.
func benchRedisSize(ctx context.Context, _ settings, t *table, r *redisServer) error {
	const records = 200_000
	t.progress("redisstore: %d records, for their size", records)
	before := r.memory()
	if err := times(records, 256, func() error { return operate(ctx, r.store) }); err != nil {
		return err
	}
	t.atMost("redisstore, a completed record", "256 bytes of answer", (r.memory()-before)/records, 560, " bytes")
	return nil
}

func (r *redisServer) memory() float64 {
	for line := range strings.Lines(fmt.Sprint(r.server.Do("INFO", "memory"))) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); ok {
			n, _ := strconv.ParseFloat(text, 64)
			return n
		}
	}
	return 0
}

// benchRedisDurable measures what an append-only file that is synced every second costs.
func benchRedisDurable(ctx context.Context, s settings, t *table, without *redisServer) error {
	with, err := startRedis(ctx, servicetest.PersistEverySecond, packedByHand)
	if err != nil {
		return err
	}
	on := contest{ours: with.store, limit: without.store}
	err = contender{name: "redisstore"}.compare(ctx, s, t, "operations with appendfsync everysec", "without a file", on, target{256, 0.85},
		func() error { return operate(ctx, with.store) },
		func() error { return operate(ctx, without.store) })
	return errors.Join(err, with.close())
}

// countFragment is the effect that is measured.
const countFragment = `return redis.call('INCRBY', KEYS[1], ARGV[1])`

// countByHand is the same with a record, as somebody would write it.
const countByHand = `
local got = redis.call('MGET', KEYS[1], KEYS[2])
if got[2] ~= ARGV[1] then
	return -3
end
if got[1] then
	return {got[1], redis.call('PTTL', KEYS[1])}
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
local answer = redis.call('INCRBY', KEYS[3], ARGV[4])
redis.call('SET', KEYS[1], ARGV[2] .. answer, 'PX', ARGV[3])
return {answer, redis.call('PEXPIRETIME', KEYS[1])}`

// benchRedisEffects compares an effect that moves a counter with a script that is written by hand.
func benchRedisEffects(ctx context.Context, s settings, t *table, r *redisServer) error {
	effect, err := redisstore.NewEffect("count", countFragment)
	if err != nil {
		return err
	}
	byHand := rueidis.NewLuaScript(countByHand)
	on := contest{ours: r.store, limit: r.limit}
	for _, callers := range []int{64, 256} {
		err := contender{name: "redisstore"}.compare(ctx, s, t, "an effect with one counter", "a script by hand", on, target{callers, 0.85},
			func() error {
				begin := newBegin()
				counter := fmt.Sprintf("counter:{%04d}", store.BucketOf(begin.Scope.Digest))
				_, err := effect.Do(ctx, r.store, invocation(begin), []string{counter}, "1")
				return err
			},
			func() error {
				begin := newBegin()
				record := packByHand(1, begin.Owner.Digest(), begin.Fingerprints[0].Sum, nil)
				counter := fmt.Sprintf("counter:{0}:%d", store.BucketOf(begin.Scope.Digest))
				return byHand.Exec(ctx, r.client, []string{keyByHand(begin.Scope.Digest), generationByHand, counter},
					[]string{string(make([]byte, len(machine.Generation{}))), rueidis.BinaryString(record), strconv.FormatInt(lifeByHand.Milliseconds(), 10), "1"}).Error()
			})
		if err != nil {
			return err
		}
	}
	return nil
}
