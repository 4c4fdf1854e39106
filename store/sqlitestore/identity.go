package sqlitestore

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// identity notices that the file was deleted or replaced while it is open. Without it a process would
// go on writing into a file that has no name any more, and all it acknowledged would vanish with it.
type identity struct {
	path    string
	opened  os.FileInfo
	started time.Time
	next    atomic.Int64 // when to look again, in nanoseconds since started
	lost    atomic.Bool
}

// lookEvery bounds how long readers answer from a file that is gone. Writers look at every commit.
const lookEvery = time.Second

func identify(path string) (*identity, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return &identity{path: path, opened: info, started: time.Now()}, nil
}

// check looks at the file if it has not been looked at lately. A file that was put back is found again.
func (f *identity) check() error {
	now, next := int64(time.Since(f.started)), f.next.Load()
	if now >= next && f.next.CompareAndSwap(next, now+int64(lookEvery)) || f.lost.Load() {
		return f.look()
	}
	return nil
}

// look looks at the file.
func (f *identity) look() error {
	info, err := os.Stat(f.path)
	lost := err != nil || !os.SameFile(info, f.opened)
	f.lost.Store(lost)
	if !lost {
		return nil
	}
	return fmt.Errorf("%w: the database file %s was deleted or replaced while it was in use: put the original file back, or stop every process that uses it and start them again on the file that is there now",
		store.ErrLost, f.path)
}
