package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/store"
)

// node is a server that has keys of its own.
type node struct {
	client rueidis.Client
	member // another process, with another run id, has another order of its keys
}

// introduction is how long a server may take to say who it is.
const introduction = 5 * time.Second

// primaries are all servers that have keys of their own, in a fixed order. One that does not answer is missed: what is counted, listed or
// accepted without it would pass for the whole store. That it was a replica is known where those that answered have all
// slots of a cluster among them.
func (s *Store) primaries(ctx context.Context) ([]node, error) {
	nodes, slots, err := s.introduce(ctx)
	if err == nil && s.client.Mode() == rueidis.ClientModeCluster {
		err = slots.whole()
	}
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// anyPrimary is one that answers, for what does not need all.
func (s *Store) anyPrimary(ctx context.Context) (node, error) {
	nodes, _, err := s.introduce(ctx)
	if err != nil {
		return node{}, err
	}
	return nodes[rand.N(len(nodes))], nil
}

// introduce asks all servers at once who they are, and returns the primaries among those that answer, one at least, with the
// slots that they have.
func (s *Store) introduce(ctx context.Context) (nodes []node, slots slotted, err error) {
	ctx, cancel := context.WithTimeout(ctx, introduction)
	defer cancel()
	all := s.client.Nodes()
	type introduced struct {
		node
		slots [][2]int64
		err   error
	}
	answers := make(chan introduced, len(all))
	for address, client := range all {
		go func() {
			m, err := whoIs(func(words ...string) (string, error) {
				return client.Do(ctx, client.B().Arbitrary(words...).Build()).ToString()
			})
			a := introduced{node{client, m}, nil, err}
			if err == nil && !m.replica && s.client.Mode() == rueidis.ClientModeCluster {
				a.slots, a.err = ownSlots(ctx, client, address)
			}
			answers <- a
		}()
	}
	for range all {
		switch a := <-answers; {
		case errors.Is(a.err, errReplica):
		case a.err != nil:
			slots.failed = unread(ctx, a.err)
		case !a.replica:
			nodes = append(nodes, a.node)
			slots.add(a.slots)
		}
	}
	switch {
	case len(nodes) > 0:
	case slots.failed != nil:
		return nil, slots, slots.failed
	default:
		return nil, slots, store.Unavailable(fmt.Errorf("none of %d servers says that it is a primary", len(all)))
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.RunID, b.RunID) })
	return nodes, slots, nil
}

// ownSlots are the slots that a server of a cluster has itself, each from one to another, as it says. What it believes of others may be out of
// date.
func ownSlots(ctx context.Context, client rueidis.Client, address string) (own [][2]int64, err error) {
	ranges, err := client.Do(ctx, client.B().ClusterSlots().Build()).ToArray()
	if err != nil {
		return nil, err
	}
	for _, r := range ranges {
		parts, err := r.ToArray()
		if err != nil || len(parts) < 3 {
			return nil, errors.Join(errSlots, err)
		}
		first, failed := parts[0].AsInt64()
		last, failedToo := parts[1].AsInt64()
		primary, err := primaryOf(parts[2], address)
		if err = errors.Join(failed, failedToo, err); err != nil {
			return nil, errors.Join(errSlots, err)
		}
		if primary == address {
			own = append(own, [2]int64{first, last})
		}
	}
	return own, nil
}

var errSlots = errors.New("this Redis says which slots it has in a form that is not known")

// primaryOf reads the address of a primary as the client does, which names its connections so. A server that does not know its own
// host leaves it out.
func primaryOf(m rueidis.RedisMessage, asked string) (string, error) {
	parts, err := m.ToArray()
	if err != nil || len(parts) < 2 {
		return "", errors.Join(errSlots, err)
	}
	host, err := parts[0].ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return "", err
	}
	if host == "" {
		if host, _, err = net.SplitHostPort(asked); err != nil {
			return "", err
		}
	}
	port, err := parts[1].AsInt64()
	return net.JoinHostPort(host, strconv.FormatInt(port, 10)), err
}

// slotsOfCluster is how many slots every cluster has.
const slotsOfCluster = 16384

// slotted is which slots were met with, and why a server did not answer.
type slotted struct {
	met    [slotsOfCluster]bool
	failed error
}

func (s *slotted) add(ranges [][2]int64) {
	for _, r := range ranges {
		for slot := max(0, r[0]); slot <= min(r[1], slotsOfCluster-1); slot++ {
			s.met[slot] = true
		}
	}
}

// whole returns an error if a slot is missing.
func (s *slotted) whole() error {
	missing := 0
	for _, met := range s.met {
		if !met {
			missing++
		}
	}
	if missing == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %d slots of the cluster are with servers that do not say who they are", missing, slotsOfCluster)
	if s.failed != nil {
		err = fmt.Errorf("%w: %w", err, s.failed)
	}
	return store.Unavailable(err)
}
