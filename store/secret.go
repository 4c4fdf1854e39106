package store

import (
	"fmt"
	"math"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// Marks stand among the versions of the secret, because every process asks for those before it makes records, and does
// not work with a store that has one which it does not know. They tell what becomes of a store: see package movestore.
const (
	// MovedMark, which is never retired: from its PrimaryFrom on new keys are made in another store. A process that
	// does not know of that one makes no record here from then on.
	MovedMark uint32 = 1<<31 - 1 - iota
	// SourceMark, which is retired: records of this store are copied. Its Check names the move.
	SourceMark
	// CopyMark, which is retired: this store was filled from another one. Its Check names the move.
	CopyMark
	// MaxSecretVersion is the highest version of a secret.
	MaxSecretVersion = MovedMark - 1023
)

// IsMark reports whether this is no version of the secret but a mark.
func (s Secret) IsMark() bool { return s.Version > MaxSecretVersion }

// CopiedSecret, given to AddSecret for ahead, adds a version as another store has it, whenever it is primary.
const CopiedSecret time.Duration = math.MinInt64

// LatestSecret returns until when on the store's clock a version may be added that [AdmitSecret] admits. A store compares it
// again where it writes: a process can be stopped for as long as it likes between the two, and a version that is added later
// is primary before others have heard of it.
func LatestSecret(known []Secret, add Secret, ahead time.Duration) machine.Instant {
	if ahead == CopiedSecret || add.IsMark() && !add.Retired.IsZero() {
		return math.MaxInt64
	}
	for _, k := range known {
		if !k.IsMark() {
			return add.PrimaryFrom.Add(-ahead)
		}
	}
	return math.MaxInt64 // it is the first
}

// AdmitSecret decides for every [SecretKeeper], under its lock, whether AddSecret adds a version. A
// version whose number is known is left as it is, which is no error: the caller compares. What is admitted is written
// until [LatestSecret], else AdmitSecret is asked again.
func AdmitSecret(known []Secret, add Secret, now machine.Instant, ahead time.Duration) (bool, error) {
	for _, k := range known {
		if k.Version == add.Version {
			return false, nil
		}
	}
	if ahead == CopiedSecret || add.IsMark() && !add.Retired.IsZero() {
		return true, nil
	}
	for _, k := range known {
		switch {
		case k.Version == MovedMark && !add.IsMark():
			return false, fmt.Errorf("%w: the store is being moved to another one: add version %d there when that is over", ErrSecretTooLate, add.Version)
		case add.Version == MovedMark && !k.IsMark() && add.PrimaryFrom < k.PrimaryFrom.Add(ahead):
			return false, fmt.Errorf("%w: new keys can be made in another store from %v after version %d is primary (%v)", ErrSecretTooLate, ahead, k.Version, k.PrimaryFrom)
		case k.IsMark():
			continue
		}
		if k.Check == add.Check {
			return false, fmt.Errorf("%w: version %d is the same secret as version %d: give a new version new bytes", ErrSecretReused, add.Version, k.Version)
		}
		if add.PrimaryFrom <= k.PrimaryFrom {
			return false, fmt.Errorf("%w: version %d must become primary after version %d does (%v)", ErrSecretTooLate, add.Version, k.Version, k.PrimaryFrom)
		}
	}
	if now > LatestSecret(known, add, ahead) {
		earliest := now.Add(ahead)
		return false, fmt.Errorf("%w: version %d is to be primary from %v, but running processes learn of it within %v: choose a primary-from after %v, in UTC",
			ErrSecretTooLate, add.Version, add.PrimaryFrom, ahead, earliest.Add(ahead))
	}
	return true, nil
}
