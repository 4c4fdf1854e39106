package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// checkEvery is how often open connections are asked who is at their other end. A server that was a replica for a
// while keeps its connections, and its run id.
const checkEvery = 10 * time.Second

// keepChecking looks at who is at the other end of open connections, until ctx ends.
func (s *Store) keepChecking(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	s.check(every)
	for {
		select {
		case <-ticker.C:
		case <-s.dialer.crowd.hints:
		case <-ctx.Done():
			return
		}
		s.check(every)
	}
}

func (s *Store) check(patience time.Duration) {
	ctx, cancel := context.WithTimeout(s.life, patience)
	defer cancel()
	s.dialer.crowd.look(ctx, s.dialer.inspector().who)
	_ = s.enroll(ctx) // or the next time: until then a failover waits for an operator
}

// inspector looks at servers other than the one that is judged.
type inspector struct {
	names   names
	terms   terms
	cluster bool
	log     *slog.Logger
	who     func(ctx context.Context, address string) (member, error)
}

// asker asks a server for one text.
type asker func(words ...string) (string, error)

// askerOfMany asks a server for many texts at once.
type askerOfMany func(commands [][]string) ([]answer, error)

func whoIs(ask asker) (member, error) {
	var info strings.Builder
	for _, section := range []string{"server", "replication", "memory"} {
		text, err := ask("INFO", section)
		if err != nil {
			return member{}, err
		}
		info.WriteString(text + "\n")
	}
	return memberOf(info.String()), nil
}

// judge asks a server who it is, and returns that. The error is a *[suspect] if that is a primary which holds a list of accepted
// identities on which it is not itself, and cannot be shown to have everything either. Where there is no list there
// is no generation, and commands find out.
func judge(ctx context.Context, g greeting, i inspector, address string) (member, error) {
	m, err := whoIs(g.ask)
	switch {
	case err != nil:
		return m, err
	case m.replica:
		return m, errReplica
	}
	list, err := i.rosterOf(g)
	if err == nil {
		err = list.agrees(i.terms)
	}
	if err != nil || len(list.identities) == 0 || list.has(m.Identity) {
		return m, err
	}
	followers := i.askFollowers(ctx, m)
	if predecessor, ok := m.predecessor(list, followers); ok {
		i.log.Warn("reprise: a planned failover of Redis is accepted: the new primary has everything that the old one had",
			"address", address, "accepted", m.String(), "predecessor", predecessor)
		return m, i.accept(g.askMany, m.Identity)
	}
	why, unshown := i.covers(g.ask, m, list, followers)
	if unshown == nil {
		i.log.Warn("reprise: a failover of Redis is accepted: the new primary has everything that was acknowledged",
			"address", address, "accepted", m.String(), "history", m.previous, "why", why)
		return m, i.accept(g.askMany, m.Identity)
	}
	found := &suspect{address, m.Identity, unshown}
	i.log.Error("reprise: " + found.Error())
	return m, found
}

// predecessor finds, among the replicas of a server that was promoted, the accepted primary that it was promoted in
// the place of, if that shows that nothing is missing.
func (m member) predecessor(list roster, followers []follower) (string, bool) {
	for _, f := range followers {
		if was := (Identity{f.RunID, m.previous}); list.has(was) && m.hasAllOf(f.member) {
			return was.String(), true
		}
	}
	return "", false
}

// accept writes an identity to the others, in every bucket that the server has.
func (i inspector) accept(ask askerOfMany, id Identity) error {
	read := make([][]string, Buckets)
	for b := range read {
		read[b] = []string{"GET", i.names.identities(b)}
	}
	lists, err := ask(read)
	if err != nil {
		return err
	}
	var write [][]string
	for b, list := range lists {
		if list.text != "" && !parseRoster(list.text).has(id) {
			write = append(write, []string{"APPEND", i.names.identities(b), " " + id.String()})
		}
	}
	written, err := ask(write)
	for _, reply := range append(lists, written...) {
		if err == nil && reply.err != "" && !strings.HasPrefix(string(reply.err), "MOVED") {
			err = reply.err
		}
	}
	return err
}

// rosterOf reads who is accepted from a bucket that the server has. A server of a cluster has some only.
func (i inspector) rosterOf(g greeting) (roster, error) {
	var read [][]string
	for b := range Buckets {
		read = append(read, []string{"GET", i.names.identities(b)})
		if !i.cluster {
			break // it has all of them
		}
	}
	lists, err := g.askMany(read)
	for _, list := range lists {
		switch {
		case list.err == "":
			return parseRoster(list.text), nil
		case !strings.HasPrefix(string(list.err), "MOVED"):
			return roster{}, list.err
		}
	}
	return roster{}, err
}

// notice draws its conclusions from the error of a command on a bucket, and returns what is behind it.
func (s *Store) notice(ctx context.Context, bucket int, err error) error {
	if errors.Is(err, store.ErrLost) {
		s.relearn(ctx, bucket)
	}
	return s.dialer.crowd.blame(err)
}

// relearn reads the generation of a bucket again after it was found to be another one. Only an operator's act makes
// generations, so one that is there is to be believed. The command that found out is refused all the same.
func (s *Store) relearn(ctx context.Context, bucket int) {
	value, err := s.client.Do(ctx, s.client.B().Get().Key(s.names.generation(bucket)).Build()).AsBytes()
	if err != nil || len(value) != len(machine.Generation{}) {
		return // missing, or not to be had now: the next command finds out
	}
	_, _ = s.readGenerations(ctx) // an act is about all buckets
}

var _ store.Store = (*Store)(nil)
