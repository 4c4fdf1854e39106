package faultnet

import "encoding/binary"

// MySQL is the framing of the protocol of MySQL and MariaDB. A request is a command; its reply is all that the
// server sends until it waits for the next one: of a query with several statements, all of their results.
// Logging in is not counted, and neither are commands without a reply. What is encrypted or compressed cannot
// be told apart and has no messages.
func MySQL() Framing { return mysqlFraming{} }

type mysqlFraming struct{}

func (mysqlFraming) Open() Conversation { return &mysqlConversation{} }

// mysqlConversation follows a connection.
type mysqlConversation struct {
	named     bool // the client has named its user, and the server decides
	ready     bool // the client has been let in
	encrypted bool
	long      bool // the last packet of the client goes on in the next

	noEOF   bool // results have no packet between columns and rows
	caching bool // a result says whether its columns follow

	asked  []byte // commands that are not answered yet
	answer mysqlAnswer
}

// Bits of what client and server agree on.
const (
	mysqlIsNotMariaDB  = 1 << 0
	mysqlTLS           = 1 << 11
	mysqlNoEOF         = 1 << 24
	mariadbCaching     = 1 << 4 // of the bits that MariaDB has beyond
	mysqlTLSPacket     = 32     // the length of a request for encryption
	mariadbBitsAt      = 28
	mysqlLargest       = 1<<24 - 1 // a packet of this length goes on in the next
	mysqlMoreFollows   = 1 << 3    // in the state of the server
	mysqlPacketHeader  = 4
	mysqlOldEndAtMost  = 8
	mysqlPreparedBytes = 12
)

// Commands that are not answered like a query, or not at all.
const (
	mysqlQuit      = 0x01
	mysqlQuery     = 0x03
	mysqlPrepare   = 0x16
	mysqlExecute   = 0x17
	mysqlLongData  = 0x18
	mysqlStmtClose = 0x19
)

// Client: see [Conversation].
func (c *mysqlConversation) Client(bytes []byte) (int, Part) {
	if c.encrypted {
		return len(bytes), Aside
	}
	payload := mysqlPacket(bytes)
	if payload == nil {
		return 0, Aside
	}
	size := mysqlPacketHeader + len(payload)
	if !c.ready {
		c.login(payload)
		return size, Aside
	}
	goesOn := c.long
	c.long = len(payload) == mysqlLargest
	switch {
	case goesOn && c.long:
		return size, Within
	case goesOn:
		return size, Last
	case len(payload) == 0:
		return size, Aside
	case payload[0] == mysqlQuit || payload[0] == mysqlStmtClose:
		return size, Aside
	case payload[0] == mysqlLongData:
		return size, Within
	}
	c.asked = append(c.asked, payload[0])
	if c.long {
		return size, Within
	}
	return size, Last
}

// login looks at what a client says before it is let in.
func (c *mysqlConversation) login(payload []byte) {
	if c.named || len(payload) < mysqlTLSPacket {
		return
	}
	bits := binary.LittleEndian.Uint32(payload)
	if len(payload) == mysqlTLSPacket && bits&mysqlTLS != 0 {
		c.encrypted = true
		return
	}
	c.named, c.noEOF = true, bits&mysqlNoEOF != 0
	c.caching = bits&mysqlIsNotMariaDB == 0 && binary.LittleEndian.Uint32(payload[mariadbBitsAt:])&mariadbCaching != 0
}

// Server: see [Conversation].
func (c *mysqlConversation) Server(bytes []byte) (int, Part) {
	if c.encrypted {
		return len(bytes), Aside
	}
	payload := mysqlPacket(bytes)
	if payload == nil {
		return 0, Aside
	}
	size := mysqlPacketHeader + len(payload)
	if !c.ready {
		c.ready = c.named && len(payload) > 0 && payload[0] == 0
		return size, Aside
	}
	if len(c.asked) == 0 {
		return size, Aside // the server says why it ends the connection
	}
	if !c.answer.ends(payload, c.asked[0], c.noEOF, c.caching) {
		return size, Within
	}
	c.asked, c.answer = c.asked[1:], mysqlAnswer{}
	return size, Last
}

// mysqlPacket returns what the packet that bytes begin with holds; nil if it is not complete.
func mysqlPacket(bytes []byte) []byte {
	if len(bytes) < mysqlPacketHeader {
		return nil
	}
	size := int(bytes[0]) | int(bytes[1])<<8 | int(bytes[2])<<16
	if len(bytes) < mysqlPacketHeader+size {
		return nil
	}
	return bytes[mysqlPacketHeader : mysqlPacketHeader+size : mysqlPacketHeader+size]
}
