package machine

import "time"

// Kind names a command.
type Kind uint8

// The commands. The numbers are part of the stored form and of every transition digest.
const (
	KindClaim Kind = iota + 1
	KindBegin
	KindStart
	KindRenew
	KindComplete
	KindFail
	KindRelease
	KindSettle
	KindInspect
	KindForget
)

var kindNames = [...]string{"none", "claim", "begin", "start", "renew", "complete", "fail", "release", "settle", "inspect", "forget"}

// String returns the command's name in lower case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// Command is something asked of a record: one of [Claim], [Begin], [Start], [Renew], [Complete],
// [Fail], [Release], [Settle], [Inspect] and [Forget], as values. Commands own nothing and change
// nothing that they point to; what they point to must not be changed while they are in use.
type Command interface {
	// Target is the scope of the record that the command is about.
	Target() Scope
	// Kind names the command.
	Kind() Kind
	// Invalid says what is wrong with the command's values, or nothing. An invalid command is
	// answered with the outcome [Invalid], and changes nothing.
	Invalid() string
}

// Claim asks for a key.
type Claim struct {
	Scope     Scope
	Owner     Token
	Operation ID
	// Seen is the revision that the caller wants to take over, learned from a reply [Takeable]; 0
	// when it has seen none. A takeover is a compare-and-swap on it.
	Seen uint64
	// Fingerprints are those of the request, the caller's current version first. Older versions
	// follow, so that records made under them can still be compared.
	Fingerprints []Fingerprint
	Lease        time.Duration
	Interruption Interruption
	// Policy is the caller's policy revision. Records of a higher one are not readable to it.
	Policy uint32
	// Codecs are those whose responses the caller can read.
	Codecs []string
	// CreateBefore and CreateFrom bound when a new record may be made, for the rotation of secrets:
	// before (exclusive) and from (inclusive) on the store's clock; zero is no bound. Outside the
	// bounds an absent record is answered [Barred].
	CreateBefore, CreateFrom Instant
	// Generation is filled in by stores that have one. Callers leave it zero.
	Generation Generation
}

// Begin is Claim and Start in one step, for callers with nothing to do between them.
type Begin struct {
	Claim
	Nonce Nonce
}

// Hold names the tenure that a command speaks for. Start, Renew, Complete, Fail and Release carry
// it, and are refused as [NotOwner] when it is not the record's.
type Hold struct {
	Scope     Scope
	Owner     Token
	Attempt   uint32
	Revision  uint64 // of the record, as the caller knows it
	Operation ID
	Nonce     Nonce // of the invocation; zero before it was started
}

// Start says that the action runs from now on. Its Nonce names the invocation.
type Start struct {
	Hold
	Lease time.Duration
}

// Renew moves the lease's end to Lease from now.
type Renew struct {
	Hold
	Lease time.Duration
}

// Complete records the answer. It replays for Window, and the key is remembered for Remember; both
// count from the moment at which the store applies the command.
type Complete struct {
	Hold
	Response Response
	Window   time.Duration
	Remember time.Duration
}

// Fail records that the action ended without an answer that could be replayed.
type Fail struct {
	Hold
	// NoEffect says that nothing happened, and that nothing can happen any more because of this
	// attempt. False means that nobody knows.
	NoEffect bool
	Reason   string
	// Evidence is an answer that was seen, for whoever settles the record; it is never replayed.
	Evidence Response
	// Remember is how long a retryable record is kept. Unused when the outcome is unknown: such
	// records have no end.
	Remember time.Duration
}

// Release gives up a claim that was not started.
type Release struct{ Hold }

// Settle decides an abandoned record. It clears the owner: whoever still runs is refused from then on.
type Settle struct {
	Scope     Scope
	Operation ID
	Revision  uint64 // that was judged
	// Completed says that the effect happened, with Response as its answer. False means that it has
	// not happened and can no longer happen, so that the key may be tried again.
	Completed bool
	Response  Response
	Window    time.Duration
	Remember  time.Duration
	Who       string
	Why       string
	Evidence  string
}

// Inspect reads a record.
type Inspect struct{ Scope Scope }

// Forget deletes a record that counts as absent.
type Forget struct{ Scope Scope }

func (c Claim) Target() Scope   { return c.Scope }
func (h Hold) Target() Scope    { return h.Scope }
func (c Settle) Target() Scope  { return c.Scope }
func (c Inspect) Target() Scope { return c.Scope }
func (c Forget) Target() Scope  { return c.Scope }

func (Claim) Kind() Kind    { return KindClaim }
func (Begin) Kind() Kind    { return KindBegin }
func (Start) Kind() Kind    { return KindStart }
func (Renew) Kind() Kind    { return KindRenew }
func (Complete) Kind() Kind { return KindComplete }
func (Fail) Kind() Kind     { return KindFail }
func (Release) Kind() Kind  { return KindRelease }
func (Settle) Kind() Kind   { return KindSettle }
func (Inspect) Kind() Kind  { return KindInspect }
func (Forget) Kind() Kind   { return KindForget }
