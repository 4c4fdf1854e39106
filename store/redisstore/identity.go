package redisstore

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/reprise-dev/reprise/store"
)

// Identity is what tells one life of a server's data from another: the id of the process, and that of the
// history of its data. A server that restarts has another run id; one that was a replica for a while, and may have lost
// what it had acknowledged, has another replication id, even if it is the same process.
type Identity struct{ RunID, ReplID string }

func (i Identity) String() string { return i.RunID + ":" + i.ReplID }

// member is what a server says of itself and of those that follow it.
type member struct {
	Identity
	replica    bool
	previous   string   // the history that its own one branched off from, when it was promoted
	branchedAt int64    // how far it had the previous one, as an offset
	attached   int      // how many replicas it has
	followers  []string // addresses of those that are online
	version    string   // of Redis
	eviction   string   // what is thrown away for want of memory
}

// memberOf reads the texts of INFO.
func memberOf(info string) (m member) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "run_id":
			m.RunID = value
		case "master_replid":
			m.ReplID = value
		case "master_replid2":
			m.previous = value
		case "second_repl_offset":
			m.branchedAt, _ = strconv.ParseInt(value, 10, 64) // one that cannot be read shows nothing: it is before all others
		case "role":
			m.replica = value == "slave"
		case "redis_version":
			m.version = value
		case "maxmemory_policy":
			m.eviction = value
		default:
			m.follow(name, value)
		}
	}
	return m
}

// follow reads a line such as slave0:ip=10.0.0.7,port=6379,state=online,offset=1234,lag=0.
func (m *member) follow(name, value string) {
	if _, err := strconv.Atoi(strings.TrimPrefix(name, "slave")); err != nil || !strings.HasPrefix(name, "slave") {
		return
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(value, ",") {
		key, is, _ := strings.Cut(field, "=")
		fields[key] = is
	}
	m.attached++
	if fields["state"] == "online" {
		m.followers = append(m.followers, net.JoinHostPort(fields["ip"], fields["port"]))
	}
}

// hasAllOf reports whether a server that was promoted is shown to have everything that its predecessor had, which
// follows it by now: then both left their common history at the same place. That is so after a planned failover, in
// which the one stops and lets the other catch up.
func (m member) hasAllOf(predecessor member) bool {
	return predecessor.replica && predecessor.ReplID == m.ReplID && predecessor.previous == m.previous && predecessor.branchedAt == m.branchedAt
}

// older reports whether a server lacks what is new in Redis 7.
func (m member) older() bool {
	major, _, _ := strings.Cut(m.version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n < 7
}

// suspect is a server which is not among those that an operator has accepted: it may have lost data, and
// its keys do not show it. It is a [store.ErrLost].
type suspect struct {
	address string
	id      Identity
	unshown error // why it cannot be accepted by itself, if it was promoted
}

func (s *suspect) Error() string {
	return fmt.Sprintf("%v, or may have: the Redis at %s is not the one that this store was made or accepted on (run id %s, replication id %s): it was restarted, replaced, restored or failed over, "+
		"and cannot be shown to have everything (%v). Nothing runs until an operator has looked and accepts it with `reprise store init --accept-loss`: see docs/operating.md",
		store.ErrLost, s.address, s.id.RunID, s.id.ReplID, s.unshown)
}

// Unwrap makes it a [store.ErrLost].
func (s *suspect) Unwrap() error { return store.ErrLost }
