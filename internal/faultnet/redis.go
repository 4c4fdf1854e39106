package faultnet

import (
	"slices"
	"strings"
)

// Redis is the framing of Redis' protocols, RESP2 and RESP3. A request is a command, as a list or inline, or
// a whole transaction from MULTI to EXEC or DISCARD; its reply is all that the server says to it. What
// the server says by itself passes without a request: messages of channels, invalidations, other pushes.
//
// Not counted is what concerns the connection alone: HELLO, AUTH, CLIENT, SELECT, PING, ASKING, READONLY,
// READWRITE, RESET and QUIT outside of transactions. Where replies cannot be told apart there are no
// messages, and all passes: what is encrypted, and all that follows SYNC, PSYNC, MONITOR or CLIENT REPLY.
func Redis() Framing { return redisFraming{} }

type redisFraming struct{}

func (redisFraming) Open() Conversation { return &redisConversation{} }

// redisConversation follows a connection: which replies are still to come, and what is subscribed to.
type redisConversation struct {
	begun         bool // the client has sent something
	opaque        bool // nothing can be told apart any more
	inTransaction bool
	expected      []redisReply // oldest first
	subscriptions redisSubscriptions
}

// redisReply is a reply that is still to come.
type redisReply struct {
	command string // in capital letters
	part    Part
	// confirmations are how many more there are, if it is the reply to a subscription; 0: as many as there
	// are channels when it comes.
	confirmations int
}

// tlsHandshake is the first byte of an encrypted connection.
const tlsHandshake = 0x16

// Client: see [Conversation].
func (c *redisConversation) Client(bytes []byte) (int, Part) {
	if !c.begun && len(bytes) > 0 {
		c.begun = true
		c.opaque = bytes[0] == tlsHandshake
	}
	if c.opaque {
		return len(bytes), Aside
	}
	size, words := redisCommand(bytes)
	switch {
	case size < 0 && c.inTransaction:
		c.opaque = true
		return len(bytes), Flush // with what came of the transaction, which will not end
	case size < 0:
		c.opaque = true
		return len(bytes), Aside
	case size == 0 || len(words) == 0: // not complete, or nothing, which the server passes over
		return size, Aside
	}
	return size, c.command(words, len(bytes) > size)
}

// command notes a command, whose reply is to come. More says that the client has sent more by now.
func (c *redisConversation) command(words [][]byte, more bool) Part {
	name := strings.ToUpper(string(words[0]))
	part, reply := Last, redisReply{command: name, part: Last}
	switch {
	case name == "MULTI" || c.inTransaction && !endsTransaction(name):
		c.inTransaction = true
		part, reply = Within, redisReply{part: Within}
		if !more { // the client may wait to be told that it is queued
			part = Flush
		}
	case c.inTransaction:
		c.inTransaction = false
	case c.makesOpaque(name, words):
		c.opaque = true
		return Aside
	case concernsConnection(name):
		part, reply.part = Aside, Aside
	default:
		reply.confirmations = len(words) - 1
	}
	c.expected = append(c.expected, reply)
	return part
}

func endsTransaction(command string) bool {
	return slices.Contains([]string{"EXEC", "DISCARD", "RESET", "QUIT"}, command)
}

func concernsConnection(command string) bool {
	return slices.Contains([]string{"HELLO", "AUTH", "CLIENT", "SELECT", "PING", "ASKING", "READONLY", "READWRITE", "RESET", "QUIT"}, command)
}

// makesOpaque reports whether what the server says from now on has no order any more, or no form.
func (c *redisConversation) makesOpaque(command string, words [][]byte) bool {
	switch command {
	case "SYNC", "PSYNC", "MONITOR":
		return true
	}
	return command == "CLIENT" && len(words) > 1 && strings.EqualFold(string(words[1]), "REPLY")
}

// Server: see [Conversation].
func (c *redisConversation) Server(bytes []byte) (int, Part) {
	if c.opaque {
		return len(bytes), Aside
	}
	size := redisValue(bytes)
	switch {
	case size < 0:
		c.opaque = true
		return len(bytes), Aside
	case size == 0:
		return 0, Aside
	}
	return size, c.said(bytes[:size])
}

// said returns what a value is that the server said.
func (c *redisConversation) said(value []byte) Part {
	notice := redisNoticeOf(value)
	isExpected := len(c.expected) > 0
	switch {
	case isExpected && notice.confirms(c.expected[0].command):
		return c.confirmed(notice)
	case notice.push, c.subscriptions.explain(notice):
		c.subscriptions.note(notice)
		return Aside
	case !isExpected:
		return Aside
	}
	reply := c.expected[0]
	c.expected = c.expected[1:]
	if reply.command == "RESET" {
		c.subscriptions = redisSubscriptions{}
	}
	return reply.part
}

// confirmed returns which part of the oldest reply a confirmation of a subscription, or of its end, is.
func (c *redisConversation) confirmed(notice redisNotice) Part {
	reply := &c.expected[0]
	if reply.confirmations == 0 {
		reply.confirmations = max(1, c.subscriptions.count(notice))
	}
	c.subscriptions.note(notice)
	if reply.confirmations--; reply.confirmations > 0 {
		return Within
	}
	c.expected = c.expected[1:]
	return Last
}
