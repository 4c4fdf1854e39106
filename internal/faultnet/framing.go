package faultnet

// Part says what a unit of bytes is to the message that it belongs to.
type Part int

const (
	// Aside belongs to no message, as the bytes by which a client logs in: it is passed on at once.
	Aside Part = iota
	// Within is a part of a message that goes on.
	Within
	// Flush is as Within, but the client may wait for an answer before it goes on. What has come of the
	// message is passed on.
	Flush
	// Last ends a message.
	Last
)

// Framing is how a protocol tells messages apart. Messages of a client are requests. Each has one
// reply, and replies come in the order of requests.
type Framing interface {
	// Open returns the framing of one connection, which has just been opened.
	Open() Conversation
}

// Conversation is the framing of one connection. Its methods are called one at a time.
type Conversation interface {
	// Client returns the length of the first unit in what came from the client, and which part it is. 0
	// means that more must come first. Each unit is looked at until it is complete, then no more.
	Client(bytes []byte) (int, Part)
	// Server does the same for what came from the server.
	Server(bytes []byte) (int, Part)
}

// Raw knows no protocol: whatever is read from a client at once is a request, and the next that is read
// from the server is its reply.
func Raw() Framing { return raw{} }

type raw struct{}

func (raw) Open() Conversation              { return raw{} }
func (raw) Client(bytes []byte) (int, Part) { return len(bytes), Last }
func (raw) Server(bytes []byte) (int, Part) { return len(bytes), Last }
