package sqlitestore

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/reprise-dev/reprise/store"
)

// identity notices that the file, or its log, was deleted or replaced while it is open. Without it a
// process would go on writing into a file that has no name any more, and all it acknowledged would
// vanish with it.
//
// Once noticed it stays so: whoever opened another file under the name may have used up the log of this
// one, and then the file alone, put back, lacks the latest commits.
type identity struct {
	name    string      // as the file was named, perhaps a link; it must lead to the file for as long as that is open
	path    string      // of the file itself
	opened  [2]fileMark // of the file and of its log
	started time.Time
	next    atomic.Int64 // when to look again, in nanoseconds since started
	lost    atomic.Bool
}

// lookEvery bounds how long readers answer from a file that is gone. Writers look at every commit.
const lookEvery = time.Second

// identify remembers a file that is open, so that its log is there too.
func identify(name, path string) (*identity, error) {
	f := &identity{name: name, path: path, started: time.Now()}
	var err error
	f.opened, err = f.marks()
	return f, err
}

func (f *identity) marks() (found [2]fileMark, err error) {
	if found[0], err = markOf(f.name); err == nil {
		found[1], err = markOf(f.path + "-wal")
	}
	return found, err
}

// check looks at the file if it has not been looked at lately.
func (f *identity) check() error {
	now, next := int64(time.Since(f.started)), f.next.Load()
	if f.lost.Load() || now >= next && f.next.CompareAndSwap(next, now+int64(lookEvery)) {
		return f.look()
	}
	return nil
}

// look looks at the file.
func (f *identity) look() error {
	if !f.lost.Load() {
		found, err := f.marks()
		if err == nil && found[0].same(f.opened[0]) && found[1].same(f.opened[1]) {
			return nil
		}
		f.lost.Store(true)
	}
	return fmt.Errorf("%w: the database file %s, or %[2]s-wal beside it, was deleted or replaced while it was in use%s: stop every process that uses it, put both files back if they were moved, or choose a backup, and start again",
		store.ErrLost, f.path, f.link())
}

// link says which link may have been changed, if there is one.
func (f *identity) link() string {
	if f.name == f.path {
		return ""
	}
	return fmt.Sprintf(" (or the link %s leads elsewhere)", f.name)
}
