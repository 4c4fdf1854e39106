package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// redisServer is a Redis server of our own, with a store and a limit in one database.
type redisServer struct {
	host   *host
	server *servicetest.RedisServer
	store  *redisstore.Store
	client rueidis.Client
	limit  store.Store // what a user would write by hand
}

// redisLimit makes a limit. It takes Begin, Complete, and Inspect for a begin on a key that has an answer.
type redisLimit func(rueidis.Client) store.Store

func redisContender() contender {
	return contender{
		part: "redis", name: "redisstore", limitName: "a packed record by hand, claimed in a MULTI",
		open:       openRedis(packedByHand),
		operations: []target{{64, 0.9}, {256, 0.9}},
		replays:    []target{{64, 0.9}, {256, 0.9}},
	}
}

func redisHashContender() contender {
	return contender{
		part: "redis-hash", name: "redisstore", limitName: "a hash for each record, two scripts",
		open:       openRedis(hashByHand),
		operations: []target{{64, 1.2}, {256, 1.2}},
		replays:    []target{{64, 1.4}, {256, 1.4}},
	}
}

func openRedis(limit redisLimit) func(context.Context, string) (contest, error) {
	return func(ctx context.Context, _ string) (contest, error) {
		r, err := startRedis(ctx, servicetest.PersistNothing, limit)
		return contest{ours: r.store, limit: r.limit, close: r.close}, err
	}
}

func startRedis(ctx context.Context, keeps servicetest.Persistence, limit redisLimit) (r *redisServer, err error) {
	r = &redisServer{host: &host{ctx: ctx}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	var dsn string
	if err = r.host.try(func() {
		r.server = servicetest.NewRedis(r.host, servicetest.RedisOptions{Persistence: keeps})
		dsn = r.server.DSN(1)
	}); err != nil {
		return r, err
	}
	if err = redisstore.InitNew(ctx, dsn, redisstore.Options{}); err != nil {
		return r, err
	}
	if r.store, err = redisstore.Open(ctx, dsn, redisstore.Options{}); err != nil {
		return r, err
	}
	option, err := rueidis.ParseURL(dsn)
	if err != nil {
		return r, err
	}
	option.DisableRetry, option.DisableCache, option.MaxFlushDelay = true, true, redisFlushDelay
	if r.client, err = rueidis.NewClient(option); err != nil {
		return r, err
	}
	r.limit = limit(r.client)
	return r, r.client.Do(ctx, r.client.B().Set().Key(generationByHand).Value(string(make([]byte, 16))).Build()).Error()
}

// redisFlushDelay is for how long the client by hand collects commands, as measured to be the best.
const redisFlushDelay = 20 * time.Microsecond

func (r *redisServer) close() error {
	var failures []error
	if r.store != nil {
		failures = append(failures, r.store.Close())
	}
	if r.limit != nil {
		failures = append(failures, r.limit.Close())
	}
	return errors.Join(append(failures, r.host.end())...)
}

const (
	generationByHand = "bare:{0}:generation"
	lifeByHand       = time.Hour
)

// packedStrings keeps a record in one string: state, owner, fingerprint, answer.
type packedStrings struct {
	rueidis.Client
	complete *rueidis.Lua
}

const completePackedByHand = `local v = redis.call('GET', KEYS[1])
if not v or string.sub(v, 1, #ARGV[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`

func packedByHand(c rueidis.Client) store.Store {
	return packedStrings{c, rueidis.NewLuaScript(completePackedByHand)}
}

// Close implements [store.Store].
func (p packedStrings) Close() error {
	p.Client.Close()
	return nil
}

func keyByHand(digest machine.Digest) string { return "bare:{0}:" + string(digest[:]) }

// Apply implements [store.Store].
func (p packedStrings) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	key := keyByHand(command.Target().Digest)
	switch c := command.(type) {
	case machine.Begin:
		owner := c.Owner.Digest()
		found, err := p.claim(ctx, key, rueidis.BinaryString(packByHand(1, owner, c.Fingerprints[0].Sum, nil)))
		if err == nil && found != "" {
			err = fmt.Errorf("a fresh key was found to be %q", found)
		}
		return machine.Reply{Outcome: machine.Acquired, Attempt: 1, Revision: 1}, err
	case machine.Complete:
		owner := c.Owner.Digest()
		expected := rueidis.BinaryString(packByHand(1, owner, machine.Digest{1}, nil))
		n, err := p.complete.Exec(ctx, p.Client, []string{key}, []string{
			expected, rueidis.BinaryString(packByHand(2, owner, machine.Digest{1}, c.Response.Data)), strconv.FormatInt(lifeByHand.Milliseconds(), 10),
		}).AsInt64()
		if err == nil && n != 1 {
			err = errors.New("not completed")
		}
		return machine.Reply{Outcome: machine.CompletedNow}, err
	case machine.Inspect:
		found, err := p.claim(ctx, key, rueidis.BinaryString(packByHand(1, machine.Digest{}, machine.Digest{1}, nil)))
		if err == nil && (len(found) < 65 || found[0] != 2) {
			err = fmt.Errorf("not an answer: %q", found)
		}
		return machine.Reply{Outcome: machine.Found}, err
	}
	return machine.Reply{}, fmt.Errorf("packedStrings does not know %v", command.Kind())
}

// claim is one transaction: it writes the record if there is none, and returns what there was, how long it
// still lives, and the generation.
func (p packedStrings) claim(ctx context.Context, key, record string) (found string, err error) {
	b := p.Client.B()
	replies := p.Client.DoMulti(ctx, b.Multi().Build(),
		b.Set().Key(key).Value(record).Nx().Get().Px(lifeByHand).Build(),
		b.Pttl().Key(key).Build(), b.Get().Key(generationByHand).Build(), b.Exec().Build())
	all, err := replies[4].ToArray()
	if err != nil {
		return "", err
	}
	if found, err = all[0].ToString(); rueidis.IsRedisNil(err) {
		err = nil
	}
	left, err1 := all[1].AsInt64()
	generation, err2 := all[2].ToString()
	if left <= 0 || len(generation) != 16 {
		err = errors.Join(err, errors.New("no life or no generation"))
	}
	return found, errors.Join(err, err1, err2)
}

func packByHand(state byte, owner, fingerprint machine.Digest, answer []byte) []byte {
	b := append(make([]byte, 0, 65+len(answer)), state)
	b = append(b, owner[:]...)
	b = append(b, fingerprint[:]...)
	return append(b, answer...)
}
