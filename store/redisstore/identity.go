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

// identityOf reads the identity and the role out of the texts of INFO.
func identityOf(info string) (id Identity, replica bool) {
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "run_id":
			id.RunID = value
		case "master_replid":
			id.ReplID = value
		case "role":
			replica = value == "slave"
		}
	}
	return id, replica
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
	case '+':
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
