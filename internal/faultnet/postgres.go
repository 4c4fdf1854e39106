package faultnet

import "encoding/binary"

// Postgres is the framing of PostgreSQL's protocol, version 3. A request is a simple query, or all up to a
// Sync; its reply is all up to ReadyForQuery. Logging in is not counted, and neither is the end of
// a connection. What is encrypted cannot be told apart and has no messages.
func Postgres() Framing { return postgresFraming{} }

type postgresFraming struct{}

func (postgresFraming) Open() Conversation { return &postgresConversation{} }

// postgresConversation follows a connection through its first packets, which have a form of their own.
type postgresConversation struct {
	started   bool // the client has named its user
	ready     bool // the server has said that it is ready for the first query
	asked     bool // the client has asked for encryption: the server answers with one byte
	encrypted bool
}

// Codes in the place where a start packet has its protocol version.
const (
	postgresCancel = 80877102
	postgresTLS    = 80877103
	postgresGSS    = 80877104
)

// Client: see [Conversation].
func (c *postgresConversation) Client(bytes []byte) (int, Part) {
	if c.encrypted {
		return len(bytes), Aside
	}
	if !c.started {
		return c.start(bytes)
	}
	size := postgresFrame(bytes)
	if size == 0 || !c.ready {
		return size, Aside
	}
	switch bytes[0] {
	case 'Q', 'S', 'F': // a query, Sync, a function call: the server answers with ReadyForQuery
		return size, Last
	case 'H':
		return size, Flush
	case 'X', 'd', 'c', 'f': // the end; data of a COPY, which belong to the request before
		return size, Aside
	default:
		return size, Within
	}
}

// start is about packets that have no type: length, code, content.
func (c *postgresConversation) start(bytes []byte) (int, Part) {
	if len(bytes) < 8 {
		return 0, Aside
	}
	size := lengthAt(bytes, 0)
	if size < 8 {
		c.encrypted = true // not this protocol
		return len(bytes), Aside
	}
	if len(bytes) < size {
		return 0, Aside
	}
	switch binary.BigEndian.Uint32(bytes[4:]) {
	case postgresTLS, postgresGSS:
		c.asked = true
	case postgresCancel: // nothing follows
	default:
		c.started = true
	}
	return size, Aside
}

// Server: see [Conversation].
func (c *postgresConversation) Server(bytes []byte) (int, Part) {
	switch {
	case len(bytes) == 0:
		return 0, Aside
	case c.encrypted:
		return len(bytes), Aside
	case c.asked:
		c.asked = false
		c.encrypted = bytes[0] != 'N'
		return 1, Aside
	}
	size := postgresFrame(bytes)
	switch {
	case size == 0 || bytes[0] != 'Z':
		return size, Within
	case !c.ready:
		c.ready = true
		return size, Aside
	default:
		return size, Last
	}
}

// postgresFrame returns the length of the message of the protocol that bytes begin with: type, length,
// content. 0 is incomplete. A length that cannot be is taken as the shortest one.
func postgresFrame(bytes []byte) int {
	if len(bytes) < 5 {
		return 0
	}
	size := 1 + max(lengthAt(bytes, 1), 4)
	if len(bytes) < size {
		return 0
	}
	return size
}

func lengthAt(bytes []byte, at int) int { return int(int32(binary.BigEndian.Uint32(bytes[at:]))) }
