package faultnet

import "time"

// Fault is what goes wrong with one request. The zero value is no fault.
type Fault struct {
	loses side
	half  bool            // the first half of what is lost arrives
	hangs bool            // the connection is not cut
	hold  <-chan struct{} // the request waits for this
	mute  <-chan struct{} // the reply waits for this
	delay time.Duration   // the request waits for so long
}

// side is one of the two messages of an exchange.
type side int

const (
	neither side = iota
	request
	reply
)

// RequestLost: the request never reaches the server, and the connection is cut. Requests before it on the
// same connection are answered first; those behind it are lost too.
func RequestLost() Fault { return Fault{loses: request} }

// RequestCut: the first half of the request reaches the server, then the connection is cut.
func RequestCut() Fault { return Fault{loses: request, half: true} }

// ReplyLost: the server has answered, the reply does not reach the client, and the connection is cut.
// Requests behind it on the same connection may have reached the server, and are not answered.
func ReplyLost() Fault { return Fault{loses: reply} }

// ReplyCut: the server has answered, the first half of the reply reaches the client, then the connection
// is cut.
func ReplyCut() Fault { return Fault{loses: reply, half: true} }

// HeldUntil: the request reaches the server only when release is closed, even if the client is gone by
// then.
func HeldUntil(release <-chan struct{}) Fault { return Fault{hold: release} }

// AnsweredAfter: the request reaches the server at once, and the reply reaches the client when release is
// closed.
func AnsweredAfter(release <-chan struct{}) Fault { return Fault{mute: release} }

// Delayed: the request takes so long to reach the server.
func Delayed(by time.Duration) Fault { return Fault{delay: by} }

// Hanging returns the fault without the cut: the connection stays open, but nothing arrives any more in
// either direction.
func (f Fault) Hanging() Fault {
	f.hangs = true
	return f
}

// share returns what arrives of a message that the fault loses.
func (f Fault) share(message []byte) []byte {
	if f.half {
		return message[:len(message)/2]
	}
	return nil
}
