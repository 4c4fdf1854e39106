package reprise

import (
	"crypto/sha256"
	"strings"

	"github.com/reprise-dev/reprise/machine"
)

// Everyone is the principal of operations whose keys all callers share.
const Everyone = "everyone"

// Call names what is to be done once.
type Call struct {
	// Operation is the name of what is done, such as "charge" or "POST /orders". It is part of the
	// key, stored in clear, and must stay the same across versions of the program. Required.
	Operation string
	// Principal is who asks, as authenticated. Callers with different principals never share a key.
	// Required: where there is no caller, say [Everyone]. Only a digest of it is stored.
	Principal string
	// Key is the idempotency key, minted by the caller once for each logical call. Required. Only a
	// digest of it is stored.
	Key string
	// Payload is the request. The same key with another payload is refused. It is not kept.
	Payload []byte
	// Fingerprints are used instead of Payload when there are any: digests of the request by rules of
	// the caller's own, the current version first. Versions count from 2; 1 is SHA-256 of Payload.
	Fingerprints []machine.Fingerprint
	// Tag names what the effect is about, such as an account, in stores that spread records over buckets (Redis):
	// the record is kept beside the data of that tag, so that one script can change both. It is part of the
	// key: every call with the key must name the same tag. Empty where it does not matter.
	Tag string
	// Codecs are those that the caller can read besides [CodecRaw] and [CodecJSON]. Their names have up to 64 bytes.
	Codecs []string
	// Resume continues an attempt that this or an earlier process has claimed and not started. It
	// comes from [Run.Retain]. Zero starts a new one.
	Resume Retained
}

// Retained is a claim that can be continued by whoever holds it. It contains the owner token: keep it
// as you would keep a password.
type Retained struct {
	Owner     machine.Token
	Operation machine.ID
}

const (
	payloadFingerprint = 1
	maxKeyPart         = 64 << 10
)

// ownCodecs are those that this package reads itself.
var ownCodecs = [...]string{CodecRaw, CodecJSON}

func (c *Call) check() error {
	switch {
	case strings.TrimSpace(c.Operation) == "":
		return invalid("Call.Operation is empty or blank: name what is done, and keep the name")
	case !machine.ValidOperationName(c.Operation):
		return invalid("Call.Operation %.64q is longer than %d bytes, or not plain UTF-8 text", c.Operation, machine.MaxOperationName)
	case strings.TrimSpace(c.Principal) == "":
		return invalid("Call.Principal is empty or blank: say who asks, or reprise.Everyone when all callers share their keys")
	case strings.TrimSpace(c.Key) == "":
		return invalid("Call.Key is empty or blank")
	case len(c.Key) > maxKeyPart || len(c.Principal) > maxKeyPart || len(c.Tag) > maxKeyPart:
		return invalid("Call.Key, Call.Principal and Call.Tag are limited to %d bytes each", maxKeyPart)
	}
	for _, codec := range c.Codecs {
		if codec == "" || len(codec) > machine.MaxCodecName {
			return invalid("Call.Codecs: %.80q cannot be the name of a codec: a record names it in 1 to %d bytes", codec, machine.MaxCodecName)
		}
	}
	for _, f := range c.Fingerprints {
		if f.Version <= payloadFingerprint {
			return invalid("Call.Fingerprints: version %d is taken; count from %d", f.Version, payloadFingerprint+1)
		}
	}
	return nil
}

func (c *Call) payloadFingerprint() machine.Fingerprint {
	return machine.Fingerprint{Version: payloadFingerprint, Sum: sha256.Sum256(c.Payload)}
}

func (c *Call) codecs() []string {
	if len(c.Codecs) == 0 {
		return ownCodecs[:]
	}
	return append(c.Codecs[:len(c.Codecs):len(c.Codecs)], ownCodecs[:]...)
}
