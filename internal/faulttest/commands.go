package faulttest

import (
	"crypto/sha256"
	"math/rand/v2"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// commander makes random commands of one client: often nearly right ones, for those find more than wild
// ones.
type commander struct {
	*rand.Rand
	name  string // of the token by which it claims, and which only it gives up
	known map[machine.Digest]knowledge
}

// knowledge is what a client was last told about a record.
type knowledge struct {
	owner    string // who holds it, if that is known
	attempt  uint32
	revision uint64
}

func newCommander(seed uint64, client int) *commander {
	return &commander{
		Rand: rand.New(rand.NewPCG(seed, uint64(client))), name: tokens[client%len(tokens)], known: map[machine.Digest]knowledge{},
	}
}

// tokens are one for each client. A store that has lost the reply to a claim looks whether there is what the
// claim makes; if somebody has given that up meanwhile, it claims again, which is no fault of it.
var tokens = [clients]string{"a", "b", "c", "d", "e", "f"}

func named[T ~[16]byte](what, name string) (id T) {
	sum := sha256.Sum256([]byte(what + name))
	copy(id[:], sum[:])
	return id
}

func pick[T any](c *commander, of ...T) T { return of[c.IntN(len(of))] }

func (c *commander) one(in int) bool { return c.IntN(in) == 0 }

// note keeps what a reply tells about a record.
func (c *commander) note(command machine.Command, owner string, r machine.Reply) {
	digest := command.Target().Digest
	k := c.known[digest]
	if k.attempt != r.Attempt {
		k.owner = ""
	}
	if r.Yours && r.State != machine.Completed {
		k.owner = owner
	}
	k.attempt, k.revision = r.Attempt, r.Revision
	c.known[digest] = k
}

// command makes the next command on a key, and says by whose token.
func (c *commander) command(scope machine.Scope) (command machine.Command, owner string) {
	k := c.known[scope.Digest]
	kind := c.IntN(16)
	if stranger := k.owner != c.name; stranger && kind >= 5 && kind <= 12 && !c.one(4) {
		kind = pick(c, 0, 2, 3, 13, 15) // what may do something for whoever does not hold the key
	}
	owner = c.name
	if mine := kind < 5 || kind == 12; !mine && c.one(5) {
		owner = tokens[c.IntN(clients)]
	}
	token := machine.Token(sha256.Sum256([]byte("token " + owner)))
	name := pick(c, owner, owner, owner, owner, owner, "b")
	operation, nonce := named[machine.ID]("operation ", name), named[machine.Nonce]("nonce ", name)
	request := "request"
	if c.one(12) {
		request = "another request"
	}
	hold := machine.Hold{
		Scope: scope, Owner: token, Attempt: max(1, k.attempt), Revision: max(1, k.revision), Operation: operation, Nonce: nonce,
	}
	if c.one(6) && hold.Revision > 1 {
		hold.Revision--
	}
	claim := machine.Claim{
		Scope: scope, Owner: token, Operation: operation, Seen: pick(c, 0, k.revision, k.revision), Lease: c.lease(),
		Fingerprints: []machine.Fingerprint{{Version: 1, Sum: sha256.Sum256([]byte(request))}},
		Interruption: pick(c, machine.Quarantine, machine.Rerun), Policy: 1, Codecs: []string{"text/1"},
	}
	switch kind {
	case 0, 1:
		return claim, owner
	case 2, 3, 4:
		return machine.Begin{Claim: claim, Nonce: nonce}, owner
	case 5, 6:
		return machine.Start{Hold: hold, Lease: c.lease()}, owner
	case 7, 8:
		return machine.Renew{Hold: hold, Lease: c.lease()}, owner
	case 9:
		window := pick(c, 0, time.Minute, day)
		return machine.Complete{Hold: hold, Response: c.response(), Window: window, Remember: window + pick(c, time.Minute, day)}, owner
	case 10, 11:
		return machine.Fail{Hold: hold, NoEffect: c.one(2), Reason: "upstream", Evidence: pick(c, machine.Response{}, c.response()), Remember: pick(c, time.Minute, day)}, owner
	case 12:
		return machine.Release{Hold: hold}, owner
	case 13:
		return machine.Settle{
			Scope: scope, Operation: operation, Revision: max(1, k.revision), Completed: c.one(2), Response: c.response(),
			Window: time.Minute, Remember: pick(c, time.Minute, day), Who: "operator", Why: "looked",
		}, owner
	case 14:
		return machine.Forget{Scope: scope}, owner
	}
	return machine.Inspect{Scope: scope}, owner
}

func (c *commander) lease() time.Duration { return pick(c, 20*time.Second, time.Minute, time.Hour) }

func (c *commander) response() machine.Response {
	return machine.NewResponse(pick(c, "text/1", "text/1", "http/1"), []byte(pick(c, "", "x", "y")))
}
