package redisstore

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// glance is what a look at a record has found: all of it, but perhaps the end of its answer.
type glance struct {
	target
	found
	there   bool // in one of the states that were asked for
	damaged bool // it cannot be read
	size    int64
}

// glanceSize is how much of a record is read to judge it.
const glanceSize = 1024

// glance looks at records that are stored in some states.
func (s *Store) glance(ctx context.Context, digests []machine.Digest, states ...machine.State) ([]glance, error) {
	wanted := make([]byte, len(states))
	for i, state := range states {
		wanted[i] = byte(state)
	}
	glances := make([]glance, len(digests))
	return glances, each(ctx, len(digests), func(ctx context.Context, i int) (err error) {
		glances[i], err = s.glanceAt(ctx, digests[i], string(wanted))
		return err
	})
}

func (s *Store) glanceAt(ctx context.Context, digest machine.Digest, wanted string) (g glance, err error) {
	g.target = newTarget(s, digest)
	message, err := s.scripts.peek.Exec(ctx, s.client, g.keys, []string{
		string(g.generation[:]), wanted, strconv.Itoa(glanceSize),
	}).ToMessage()
	switch {
	case rueidis.IsRedisNil(err):
		return g, nil
	case err != nil:
		return g, unread(ctx, err)
	case message.IsInt64():
		if n, _ := message.AsInt64(); n == replyLost {
			return g, lostBucket(g.bucket)
		}
		return g, nil
	}
	parts, err := message.ToArray()
	if err == nil && len(parts) != 4 {
		err = errRound
	}
	if err != nil {
		return g, unread(ctx, err)
	}
	if g.size, err = parts[3].AsInt64(); err != nil {
		return g, unread(ctx, err)
	}
	g.there = true
	g.found, err = s.read(ctx, g.target, message)
	if errors.Is(err, store.ErrCorrupt) && g.cut() {
		return g, s.complete(ctx, &g)
	}
	return g, g.judge(err)
}

// cut reports whether the end of the record is missing.
func (g *glance) cut() bool { return int64(len(g.packed)) < g.size }

// complete reads all of a record.
func (s *Store) complete(ctx context.Context, g *glance) (err error) {
	g.found, err = s.load(ctx, g.target, nil)
	g.size = int64(len(g.packed))
	return g.judge(err)
}

// judge notes that a record cannot be read, which is no error here.
func (g *glance) judge(err error) error {
	if errors.Is(err, store.ErrCorrupt) {
		g.damaged, err = true, nil
	}
	return err
}

// state is that of a record that was looked at, absent if there is none.
func (g *glance) state() machine.State {
	state, _ := g.record.Judge(g.now)
	return state
}
