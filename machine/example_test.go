package machine_test

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// The life of a key: begun, completed, and asked for again by somebody else.
func ExampleStep() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	first := machine.Begin{
		Claim: machine.Claim{
			Scope: machine.Scope{Operation: "POST /orders", Digest: sha256.Sum256([]byte("the key"))},
			Owner: machine.Token{1}, Operation: machine.ID{1}, Lease: 30 * time.Second,
			Fingerprints: []machine.Fingerprint{{Version: 1, Sum: sha256.Sum256([]byte("the request"))}},
			Codecs:       []string{"text/1"},
		},
		Nonce: machine.Nonce{1},
	}
	record, reply := machine.Step(nil, first, now)
	fmt.Println(reply.Outcome, reply.State)

	record, reply = machine.Step(record, machine.Complete{
		Hold: machine.Hold{
			Scope: first.Scope, Owner: first.Owner, Operation: first.Operation, Nonce: first.Nonce,
			Attempt: reply.Attempt, Revision: reply.Revision,
		},
		Response: machine.NewResponse("text/1", []byte("order 7")),
		Window:   time.Hour, Remember: 24 * time.Hour,
	}, now)
	fmt.Println(reply.Outcome, reply.State)

	second := first
	second.Owner, second.Operation, second.Nonce = machine.Token{2}, machine.ID{2}, machine.Nonce{2}
	_, reply = machine.Step(record, second, now.Add(time.Minute))
	fmt.Println(reply.Outcome, string(reply.Response.Data))
	_, reply = machine.Step(record, second, now.Add(2*time.Hour))
	fmt.Println(reply.Outcome)
	// Output:
	// acquired executing
	// completed completed
	// replay order 7
	// gone
}
