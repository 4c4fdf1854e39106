package faultnet

import (
	"bytes"
	"math/rand/v2"
)

// Request is a message of a client that has arrived at the proxy.
type Request struct {
	// N is its number among those of all connections, counted from 1 since the plan was set.
	N int
	// Conn is the number of its connection, counted from 1.
	Conn int
	// Bytes are what the client sent. They are valid during the call.
	Bytes []byte
}

// Plan decides what goes wrong with a request. It is called from many goroutines, one at a time, and
// must not call the proxy.
type Plan func(Request) Fault

// None is the plan under which nothing goes wrong.
func None(Request) Fault { return Fault{} }

// Nth breaks the n-th request.
func Nth(n int, fault Fault) Plan {
	return func(r Request) Fault { return faultIf(r.N == n, fault) }
}

// From breaks the n-th request and all after it.
func From(n int, fault Fault) Plan {
	return func(r Request) Fault { return faultIf(r.N >= n, fault) }
}

// First breaks the first request that contains a text.
func First(text string, fault Fault) Plan {
	met := false
	return func(r Request) Fault {
		hit := !met && bytes.Contains(r.Bytes, []byte(text))
		met = met || hit
		return faultIf(hit, fault)
	}
}

// Every breaks every request that contains a text.
func Every(text string, fault Fault) Plan {
	return func(r Request) Fault { return faultIf(bytes.Contains(r.Bytes, []byte(text)), fault) }
}

// Random breaks one request of so many on average, by one of the faults. The same seed makes the same
// choices for the same sequence of requests.
func Random(seed uint64, oneOf int, faults ...Fault) Plan {
	choice := rand.New(rand.NewPCG(seed, 0))
	return func(Request) Fault {
		if choice.IntN(oneOf) != 0 {
			return Fault{}
		}
		return faults[choice.IntN(len(faults))]
	}
}

func faultIf(hit bool, fault Fault) Fault {
	if hit {
		return fault
	}
	return Fault{}
}
