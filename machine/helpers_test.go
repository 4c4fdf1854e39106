package machine

import (
	"crypto/sha256"
	"testing"
	"time"
)

// noon is where the tests' clocks start.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func tokenOf(name string) Token { return Token(sha256.Sum256([]byte(name))) }

func idOf(name string) (id ID) {
	sum := sha256.Sum256([]byte(name))
	copy(id[:], sum[:])
	return id
}

func requestOf(name string) []Fingerprint {
	return []Fingerprint{{Version: 1, Sum: sha256.Sum256([]byte(name))}}
}

// The durations of the tests.
const (
	lease    = 30 * time.Second
	window   = time.Hour
	remember = 24 * time.Hour
)

var testScope = Scope{Operation: "POST /orders", SecretVersion: 1, Digest: sha256.Sum256([]byte("key"))}

func testClaim(who string) Claim {
	return Claim{
		Scope: testScope, Owner: tokenOf(who), Operation: idOf(who), Lease: 30 * time.Second,
		Fingerprints: requestOf("request"), Policy: 3, Codecs: []string{"text/1"},
	}
}

func testHold(who string, revision uint64) Hold {
	return Hold{
		Scope: testScope, Owner: tokenOf(who), Operation: idOf(who),
		Attempt: 1, Revision: revision, Nonce: Nonce(idOf(who)),
	}
}

func testComplete(who string, revision uint64) Complete {
	return Complete{
		Hold: testHold(who, revision), Response: NewResponse("text/1", []byte("answer")),
		Window: time.Hour, Remember: 24 * time.Hour,
	}
}

// run takes steps from nothing, each of which must have the outcome that follows it, all at noon.
func run(t *testing.T, steps ...any) *Record {
	t.Helper()
	var record *Record
	for i := 0; i < len(steps); i += 2 {
		next, reply := Step(record, steps[i].(Command), noon)
		if want := steps[i+1].(Outcome); reply.Outcome != want {
			t.Fatalf("%v: %v (%s), want %v", steps[i].(Command).Kind(), reply.Outcome, reply.Reason, want)
		}
		record = next
	}
	return record
}

func executingBy(t *testing.T, who string, policy Interruption) *Record {
	t.Helper()
	c := testClaim(who)
	c.Interruption = policy
	return run(t, Begin{c, Nonce(idOf(who))}, Acquired)
}

func completedBy(t *testing.T, who string) *Record {
	t.Helper()
	return run(t, Begin{testClaim(who), Nonce(idOf(who))}, Acquired, testComplete(who, 1), CompletedNow)
}

func failedBy(t *testing.T, who string, noEffect bool) *Record {
	t.Helper()
	return run(t, Begin{testClaim(who), Nonce(idOf(who))}, Acquired,
		Fail{Hold: testHold(who, 1), NoEffect: noEffect, Reason: "upstream", Remember: 24 * time.Hour}, Failed)
}
