package store

import (
	"fmt"
	"time"

	"github.com/reprise-dev/reprise/machine"
)

// AdmitSecret decides for every [SecretKeeper], under its lock, whether AddSecret adds a version. A
// version whose number is known is left as it is, which is no error: the caller compares.
func AdmitSecret(known []Secret, add Secret, now machine.Instant, ahead time.Duration) (bool, error) {
	for _, k := range known {
		if k.Version == add.Version {
			return false, nil
		}
	}
	for _, k := range known {
		if k.Check == add.Check {
			return false, fmt.Errorf("%w: version %d is the same secret as version %d: give a new version new bytes", ErrSecretReused, add.Version, k.Version)
		}
		if add.PrimaryFrom <= k.PrimaryFrom {
			return false, fmt.Errorf("%w: version %d must become primary after version %d does (%v)", ErrSecretTooLate, add.Version, k.Version, k.PrimaryFrom)
		}
	}
	if earliest := now.Add(ahead); len(known) > 0 && add.PrimaryFrom < earliest {
		return false, fmt.Errorf("%w: version %d is to be primary from %v, but running processes learn of it within %v: choose a primary-from after %v, in UTC",
			ErrSecretTooLate, add.Version, add.PrimaryFrom, ahead, earliest.Add(ahead))
	}
	return true, nil
}
