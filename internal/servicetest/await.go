//go:build unix

package servicetest

import (
	"fmt"
	"time"
)

// await tries until it succeeds. It is for what servers do among themselves, of which nobody is told.
func await(what string, try func() error) error {
	deadline := time.After(patience)
	moment := time.NewTicker(10 * time.Millisecond)
	defer moment.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-moment.C:
		case <-deadline:
			return fmt.Errorf("%s: not after %v: %w", what, patience, err)
		}
	}
}
