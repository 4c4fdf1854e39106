package admin_test

import (
	"context"
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/memstore"
)

// An operator finds out what is unknown, and settles it.
func ExampleService_Settle() {
	ctx, s := context.Background(), memstore.New(nil)
	begin := machine.Begin{Claim: machine.Claim{
		Scope: machine.Scope{Operation: "charge", Digest: digest("order 17")},
		Owner: machine.Token{1}, Operation: machine.ID{1}, Lease: time.Minute,
		Fingerprints: []machine.Fingerprint{{Version: 1}},
	}, Nonce: machine.Nonce{1}}
	reply, _ := s.Apply(ctx, begin)
	hold := machine.Hold{Scope: begin.Scope, Owner: begin.Owner, Attempt: 1, Revision: reply.Revision, Operation: begin.Operation, Nonce: begin.Nonce}
	_, _ = s.Apply(ctx, machine.Fail{Hold: hold, Reason: "the bank did not answer"})

	service := admin.New(s, admin.Options{})
	page, err := service.List(ctx, admin.Query{States: []machine.State{machine.Abandoned}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, record := range page.Records {
		fmt.Println(record.Operation, record.State, record.Reason)
		digest, _ := machine.ParseDigest(record.Digest)
		settled, err := service.Settle(ctx, admin.Decision{
			Digest: digest, Revision: record.Revision,
			Completed: true, Response: machine.NewResponse("raw/1", []byte("charge 4711")),
			Who: "night shift", Why: "the bank lists charge 4711", Evidence: "statement of 1 March, line 9",
		})
		fmt.Println(settled.State, err)
	}
	// Output:
	// charge abandoned the bank did not answer
	// completed <nil>
}
