package memstore_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/memstore"
)

// Two callers want one key; the clock is the test's own.
func Example() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := memstore.New(func() time.Time { return now })
	defer s.Close()
	claim := func(owner byte) machine.Claim {
		return machine.Claim{
			Scope: machine.Scope{Operation: "POST /orders", Digest: sha256.Sum256([]byte("the key"))},
			Owner: machine.Token{owner}, Operation: machine.ID{owner}, Lease: 30 * time.Second,
			Fingerprints: []machine.Fingerprint{{Version: 1, Sum: sha256.Sum256([]byte("the request"))}},
		}
	}
	for _, owner := range []byte{1, 2} {
		reply, err := s.Apply(context.Background(), claim(owner))
		fmt.Println(reply.Outcome, reply.LeaseEnd.Sub(reply.At), err)
	}
	now = now.Add(30 * time.Second)
	reply, err := s.Apply(context.Background(), claim(2))
	fmt.Println(reply.Outcome, reply.Revision, err)
	// Output:
	// acquired 30s <nil>
	// in-progress 30s <nil>
	// takeable 1 <nil>
}
