package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"slices"
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
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.dialer.crowd.look(ctx, s.dialer.inspector().who)
}

// inspector looks at servers other than the one that is judged.
type inspector struct {
	names names
	log   *slog.Logger
	who   func(ctx context.Context, address string) (member, error)
}

// asker asks a server for one text.
type asker func(words ...string) (string, error)

func whoIs(ask asker) (member, error) {
	server, err := ask("INFO", "server")
	if err != nil {
		return member{}, err
	}
	replication, err := ask("INFO", "replication")
	return memberOf(server + "\n" + replication), err
}

// judge asks a server who it is, and returns that. The error is a *[suspect] if that is a primary which holds a list of accepted
// identities on which it is not itself, and cannot be shown to have everything either. Where there is no list there
// is no generation, and commands find out.
func judge(ctx context.Context, ask asker, i inspector, address string) (Identity, error) {
	m, err := whoIs(ask)
	switch {
	case err != nil:
		return m.Identity, err
	case m.replica:
		return m.Identity, errReplica
	}
	text, err := acceptedList(ask, i.names)
	list := strings.Fields(text)
	if err != nil || len(list) == 0 || slices.Contains(list, m.String()) {
		return m.Identity, err
	}
	if predecessor, ok := i.predecessor(ctx, m, list); ok {
		i.log.Warn("reprise: a planned failover of Redis is accepted: the new primary has everything that the old one had",
			"address", address, "accepted", m.String(), "predecessor", predecessor)
		return m.Identity, i.accept(ask, m.Identity)
	}
	found := &suspect{address, m.Identity}
	i.log.Error("reprise: " + found.Error())
	return m.Identity, found
}

// predecessor finds, among the replicas of a server that was promoted, the accepted primary that it was promoted in
// the place of, if that shows that nothing is missing.
func (i inspector) predecessor(ctx context.Context, m member, list []string) (string, bool) {
	for _, address := range m.followers {
		follower, err := i.who(ctx, address)
		was := Identity{follower.RunID, m.previous}.String()
		if err == nil && slices.Contains(list, was) && m.hasAllOf(follower) {
			return was, true
		}
	}
	return "", false
}

// accept writes an identity to the others, in every bucket that the server has.
func (i inspector) accept(ask asker, id Identity) error {
	for b := range Buckets {
		list, err := ask("GET", i.names.identities(b))
		if err == nil && list != "" && !slices.Contains(strings.Fields(list), id.String()) {
			_, err = ask("APPEND", i.names.identities(b), " "+id.String())
		}
		if reply, ok := errors.AsType[replyError](err); err != nil && (!ok || !strings.HasPrefix(string(reply), "MOVED")) {
			return err
		}
	}
	return nil
}

// acceptedList reads the accepted identities from a bucket that the server has. A server of a cluster has some only.
func acceptedList(ask asker, n names) (string, error) {
	for b := range Buckets {
		list, err := ask("GET", n.identities(b))
		if reply, ok := errors.AsType[replyError](err); ok && strings.HasPrefix(string(reply), "MOVED") {
			continue
		}
		return list, err
	}
	return "", nil
}

// generation returns that of a bucket as this process knows it, zero if there is none.
func (s *Store) generation(b int) machine.Generation {
	if g := s.generations[b].Load(); g != nil {
		return *g
	}
	return machine.Generation{}
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

// learn keeps a generation, and reports whether it is one.
func (s *Store) learn(bucket int, value []byte) bool {
	var g machine.Generation
	if copy(g[:], value) != len(g) || len(value) != len(g) {
		return false
	}
	s.generations[bucket].Store(&g)
	return true
}

var _ store.Store = (*Store)(nil)
