package storetest

import "github.com/reprise-dev/reprise/machine"

// What can be different about a caller. Each returns a changed copy, so that one caller can be varied
// in many ways.

func twin(c *caller) *caller {
	copied := *c
	return &copied
}

// another is somebody else who makes the same request and knows the record's attempt and revision.
func another(c *caller) *caller {
	other := newCaller(c.claim.Scope, "another")
	other.claim.Interruption = c.claim.Interruption
	other.hold.Attempt, other.hold.Revision = c.hold.Attempt, c.hold.Revision
	return other
}

func seen(c *caller, revision uint64) *caller {
	c.claim.Seen = revision
	return c
}

func otherRequest(c *caller) *caller {
	c.claim.Fingerprints = []machine.Fingerprint{{Version: 1, Sum: sum("another request")}}
	return c
}

func unknownFingerprint(c *caller) *caller {
	c.claim.Fingerprints = []machine.Fingerprint{{Version: 2, Sum: sum("request")}}
	return c
}

func withoutCodec(c *caller) *caller {
	c.claim.Codecs = []string{"http/1"}
	return c
}

func olderPolicy(c *caller) *caller {
	c.claim.Policy--
	return c
}

func otherOperation(c *caller) *caller {
	c.claim.Operation = operation("another")
	c.hold.Operation = c.claim.Operation
	return c
}

func otherInvocation(c *caller) *caller {
	c.hold.Nonce = nonce("another")
	return c
}

func otherAttempt(c *caller) *caller {
	c.hold.Attempt++
	return c
}

func otherRevision(c *caller) *caller {
	c.hold.Revision += 5
	return c
}

// otherOperator is a second decision, not a retry of the first.
func otherOperator(c machine.Settle) machine.Settle {
	c.Operation = operation("second operator")
	return c
}
