package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// A failover that nobody planned has lost nothing that was acknowledged if the replica that was promoted has all
// that was waited for. What a primary tells its replicas is one stream, of which each replica has a beginning. Every
// acknowledged change was on wait of the replicas. So if all but wait-1 of the replicas, the promoted one
// among them, are shown to have no more than the promoted one, then one of those that had the change is among
// them, and the promoted one has it too. From then on the old primary cannot reach wait replicas any more.
//
// A replica forgets what it has confirmed when it is restarted. So only those count whose processes are known: the
// run ids of replicas are kept in the store, which tells the history in which each was seen. That a promoted server has
// this entry itself shows that it also has what was acknowledged before the process was seen, and so before it began.

// knownLimit bounds the replicas that are kept. The oldest are forgotten, which costs no more than an operator's act.
const knownLimit = 64

// replicaRun is the process of a replica in a history, as it is kept.
func replicaRun(runID, history string) string { return Identity{runID, history}.String() }

// follower is a replica as it was asked.
type follower struct {
	member
	address string
}

// askFollowers asks those who follow a server who they are. One that does not answer is left out.
func (i inspector) askFollowers(ctx context.Context, m member) (all []follower) {
	for _, address := range m.followers {
		if f, err := i.who(ctx, address); err == nil && f.replica {
			all = append(all, follower{f, address})
		}
	}
	return all
}

// covers returns why a server that was promoted has all that was acknowledged, or the error that says why nobody knows.
func (i inspector) covers(ask asker, m member, a roster, followers []follower) (why string, err error) {
	needed := a.terms.witnesses()
	switch {
	case needed < 0:
		return "", fmt.Errorf("changes are acknowledged with %v", a.terms)
	case i.cluster:
		return "", fmt.Errorf("in a cluster a slot may have moved to it, for which nobody waits")
	case !a.hasHistory(m.previous):
		return "", fmt.Errorf("its history did not branch off from that of an accepted server")
	}
	text, err := ask("GET", i.names.replicas())
	if err != nil {
		return "", err
	}
	known := strings.Fields(text)
	if !slices.Contains(known, replicaRun(m.RunID, m.previous)) {
		return "", fmt.Errorf("it was not seen as a replica since it was started")
	}
	var witnesses []string
	for _, f := range followers {
		if m.hasWhatWasAt(f.member) && slices.Contains(known, replicaRun(f.RunID, m.previous)) {
			witnesses = append(witnesses, f.address)
		}
	}
	if len(witnesses) < needed {
		return "", fmt.Errorf("%d of %d replicas are shown to have no more than it, and %d are needed beside it", len(witnesses), a.terms.replicas, needed)
	}
	return fmt.Sprintf("of %d replicas %d have confirmed each change, and %d beside it have no more than it", a.terms.replicas, a.terms.wait, len(witnesses)), nil
}

// hasWhatWasAt reports whether a replica that follows a promoted server goes on from where it was in the common history,
// and was no further. One that was further has to begin anew, and says nothing of where it was.
func (m member) hasWhatWasAt(f member) bool {
	return f.ReplID == m.ReplID && f.previous == m.previous && f.branchedAt <= m.branchedAt
}

// enroll keeps who the replicas are, in the history of their primary. While there are more than the DSN says, none is
// known: each of them may be the one that confirms a change, and the only one.
func (s *Store) enroll(ctx context.Context) error {
	if s.dialer.dsn.terms.witnesses() < 0 || s.dialer.dsn.topology == "cluster" {
		return nil
	}
	nodes, err := s.primaries(ctx)
	if err != nil {
		return err
	}
	m := nodes[0].member
	text, err := s.client.Do(ctx, s.client.B().Get().Key(s.names.replicas()).Build()).ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return unread(ctx, err)
	}
	if s.tooMany(m) {
		return sent(ctx, s.client.Do(ctx, s.client.B().Del().Key(s.names.replicas()).Build()).Error())
	}
	known := strings.Fields(text)
	before := len(known)
	for _, f := range s.dialer.inspector().askFollowers(ctx, m) {
		if run := replicaRun(f.RunID, m.ReplID); f.ReplID == m.ReplID && !slices.Contains(known, run) {
			known = append(known, run)
		}
	}
	if len(known) == before {
		return nil
	}
	known = known[max(0, len(known)-knownLimit):]
	return sent(ctx, s.client.Do(ctx, s.client.B().Set().Key(s.names.replicas()).Value(strings.Join(known, " ")).Build()).Error())
}

// tooMany reports whether a server has more replicas than it may, and says so.
func (s *Store) tooMany(m member) bool {
	t := s.dialer.dsn.terms
	if m.attached <= t.replicas {
		return false
	}
	s.dialer.log.Error("reprise: Redis has more replicas than the store's DSN says: until it has no more, every failover waits for an operator",
		"replicas", m.attached, "dsn", t.String())
	return true
}
