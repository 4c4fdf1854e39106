package redisstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// checkEvery is how often open connections are asked who is at their other end. A server that was a replica for a
// while keeps its connections, and its run id.
const checkEvery = 10 * time.Second

// keepChecking runs until the store is closed.
func (s *Store) keepChecking(every time.Duration) {
	defer close(s.checked)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-s.closing:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), every)
		s.check(ctx)
		cancel()
	}
}

// check asks every server who it is. Commands are refused from when one is not accepted until all are. A
// server that does not answer is no worse than before: commands find out.
func (s *Store) check(ctx context.Context) {
	for address, node := range s.client.Nodes() {
		ask := func(words ...string) (string, error) {
			text, err := node.Do(ctx, node.B().Arbitrary(words...).Build()).ToString()
			if reply, ok := rueidis.IsRedisErr(err); ok && !reply.IsNil() {
				return "", replyError(reply.Error())
			}
			if rueidis.IsRedisNil(err) {
				err = nil
			}
			return text, err
		}
		err := judge(ask, s.names, address)
		if found, ok := err.(*suspect); ok {
			s.suspected.Store(found)
			return
		}
		if err != nil {
			return
		}
	}
	s.suspected.Store(nil)
}

// judge asks a server who it is. It returns a *[suspect] if that is a primary which holds a list of accepted
// identities on which it is not itself. Where there is no list there is no generation either, and
// commands find out.
func judge(ask func(words ...string) (string, error), n names, address string) error {
	server, err := ask("INFO", "server")
	if err != nil {
		return err
	}
	replication, err := ask("INFO", "replication")
	if err != nil {
		return err
	}
	id, replica := identityOf(server + "\n" + replication)
	if replica {
		return nil // it is asked again when it has become a primary
	}
	list, err := acceptedList(ask, n)
	if err != nil || list == "" || slices.Contains(strings.Fields(list), id.String()) {
		return err
	}
	return &suspect{address, id}
}

// acceptedList reads the accepted identities from a bucket that the server has. A server of a cluster has some only.
func acceptedList(ask func(words ...string) (string, error), n names) (string, error) {
	for b := range Buckets {
		list, err := ask("GET", n.identities(b))
		if reply, ok := err.(replyError); ok && strings.HasPrefix(string(reply), "MOVED") {
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

// trusted returns an error while a server is not accepted.
func (s *Store) trusted() error {
	if found := s.suspected.Load(); found != nil {
		return found
	}
	return nil
}

var _ store.Store = (*Store)(nil)
