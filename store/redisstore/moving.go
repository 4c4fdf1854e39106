package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
)

// While a slot of a cluster goes from one server to another, a command on several of its keys is told to try again:
// some of them are here and some are there. It has not run, and what it waits for takes moments.

// movePatience is how long it is tried again, where the caller does not say.
const movePatience = 5 * time.Second

// moving reports whether an error says that a slot is on its way.
func moving(err error) bool {
	reply, ok := errors.AsType[*rueidis.RedisError](err)
	if !ok {
		return false
	}
	_, moved := reply.IsMoved()
	_, asked := reply.IsAsk()
	return moved || asked || reply.IsTryAgain()
}

// decideOnceMoved decides again and again until the slot has arrived. The error is the one that says that it has not.
func (s *Store) decideOnceMoved(ctx context.Context, command machine.Command, err error) (reply machine.Reply, last error) {
	if _, said := ctx.Deadline(); !said {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, movePatience)
		defer cancel()
	}
	last = err
	for wait := time.Millisecond; last != nil && moving(last) && pause(ctx, wait); wait = min(2*wait, 50*time.Millisecond) {
		reply, last = s.decide(ctx, command)
	}
	return reply, last
}
