package redisstore

import (
	"bufio"
	"fmt"
	"io"
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
	branchedAt string   // how far it had the previous one, as an offset
	followers  []string // addresses of its replicas
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
			m.branchedAt = value
		case "role":
			m.replica = value == "slave"
		default:
			if address, ok := followerOf(name, value); ok {
				m.followers = append(m.followers, address)
			}
		}
	}
	return m
}

// followerOf reads a line such as slave0:ip=10.0.0.7,port=6379,state=online,offset=1234,lag=0.
func followerOf(name, value string) (address string, ok bool) {
	if _, err := strconv.Atoi(strings.TrimPrefix(name, "slave")); err != nil || !strings.HasPrefix(name, "slave") {
		return "", false
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(value, ",") {
		key, is, _ := strings.Cut(field, "=")
		fields[key] = is
	}
	return net.JoinHostPort(fields["ip"], fields["port"]), fields["state"] == "online"
}

// hasAllOf reports whether a server that was promoted is shown to have everything that its predecessor had, which
// follows it by now: then both left their common history at the same place. That is so after a planned failover, in
// which the one stops and lets the other catch up.
func (m member) hasAllOf(predecessor member) bool {
	return predecessor.replica && predecessor.ReplID == m.ReplID && predecessor.previous == m.previous && predecessor.branchedAt == m.branchedAt
}

// suspect is a server which is not among those that an operator has accepted: it may have lost data, and
// its keys do not show it. It is a [store.ErrLost].
type suspect struct {
	address string
	id      Identity
}

func (s *suspect) Error() string {
	return fmt.Sprintf("%v, or may have: the Redis at %s is not the one that this store was made or accepted on (run id %s, replication id %s): it was restarted, replaced, restored or failed over. "+
		"Nothing runs until an operator has looked and accepts it with `reprise store init --accept-loss`: see docs/operating.md", store.ErrLost, s.address, s.id.RunID, s.id.ReplID)
}

// Unwrap makes it a [store.ErrLost].
func (s *suspect) Unwrap() error { return store.ErrLost }

// greeting asks a server who it is, on a connection that nothing was sent on yet.
type greeting struct {
	conn net.Conn
	in   *bufio.Reader
}

func (g greeting) close() {
	if g.conn != nil {
		_ = g.conn.Close() // nothing was asked of it that matters
	}
}

// enter signs in.
func (g greeting) enter(d DSN) error {
	if password, ok := d.url.User.Password(); ok {
		words := []string{"AUTH", password}
		if user := d.url.User.Username(); user != "" {
			words = []string{"AUTH", user, password}
		}
		if _, err := g.ask(words...); err != nil {
			return err
		}
	}
	if d.database == 0 {
		return nil
	}
	_, err := g.ask("SELECT", strconv.Itoa(d.database))
	return err
}

// replyError is an error reply.
type replyError string

func (e replyError) Error() string { return string(e) }

// maxGreeting is how long a reply may be.
const maxGreeting = 1 << 20

// ask sends a command and returns a reply of one text. None is the empty text.
func (g greeting) ask(words ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(g.conn, b.String()); err != nil {
		return "", err
	}
	line, err := g.in.ReadString('\n')
	if err != nil || len(line) < 3 {
		return "", fmt.Errorf("who are you: %q, %w", line, err)
	}
	kind, text := line[0], strings.TrimSpace(line[1:])
	switch kind {
	case '+', ':':
		return text, nil
	case '-':
		return "", replyError(text)
	case '$':
		size, err := strconv.Atoi(text)
		if err != nil || size > maxGreeting {
			return "", fmt.Errorf("who are you: a reply of %q bytes", text)
		}
		if size < 0 {
			return "", nil
		}
		value := make([]byte, size+2)
		_, err = io.ReadFull(g.in, value)
		return string(value[:size]), err
	}
	return "", fmt.Errorf("who are you: %q", line)
}
