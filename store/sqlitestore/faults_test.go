package sqlitestore

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/internal/faulttest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// The wire of a store in a file is the file system: it fails below SQLite.
func TestFaults(t *testing.T) {
	t.Parallel()
	faulttest.Run(t, faulttest.Kind{
		Open: func(t *testing.T) faulttest.Subject {
			return newSubject(t, newDisk(t, t.TempDir()), newClock(), rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)))
		},
		Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
			"file": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				d := newDisk(t, t.TempDir())
				return newSubject(t, d, newClock(), nil), append(ofDisk(d), ofOthers(t, d))
			},
		},
	})
}

// newSubject is a database on a disk. After its process has died, the next one finds what is left of it.
func newSubject(t *testing.T, d *disk, clock *clock, choice *rand.Rand) faulttest.Subject {
	open := func() (store.Store, error) {
		return Open(context.WithoutCancel(t.Context()), filepath.Join(d.dir, "reprise.db"), Options{Clock: clock.now, Readers: 2, BusyTimeout: 200 * time.Millisecond})
	}
	return faulttest.Subject{
		Open: open, Advance: clock.advance, Wire: d,
		Died: func() faulttest.Subject {
			next := newDisk(t, t.TempDir())
			d.powerLoss(t, next.dir, choice)
			t.Cleanup(func() { d.Break(0, 0) }) // before the handles of the dead are closed
			return newSubject(t, next, clock, choice)
		},
	}
}

// ofDisk are the troubles of a disk.
func ofDisk(d *disk) (troubles []faulttest.Trouble) {
	for name, code := range map[string]int32{"disk full": lib.SQLITE_FULL, "disk failing": lib.SQLITE_IOERR_WRITE, "read-only": lib.SQLITE_READONLY} {
		troubles = append(troubles, faulttest.Trouble{Name: name, Begin: func() { d.fail(code) }, End: func() { d.fail(0) }})
	}
	return troubles
}

// ofOthers is the trouble that another process keeps the file locked.
func ofOthers(t *testing.T, d *disk) faulttest.Trouble {
	var other *conn
	do := func(sql string) {
		if err := other.exec(sql); err != nil {
			t.Error(err)
		}
	}
	return faulttest.Trouble{Name: "locked", Begin: func() {
		var err error
		if other, err = connect(filepath.Join(d.dir, "reprise.db"), 5*time.Second, readerCache); err != nil {
			t.Fatal(err)
		}
		do("BEGIN IMMEDIATE")
	}, End: func() {
		do("ROLLBACK")
		if err := other.close(); err != nil {
			t.Error(err)
		}
	}}
}

// The disk loses what was not synced, and nothing else: the store would not pass if it did not sync.
func TestTheDiskLosesWhatWasNotSynced(t *testing.T) {
	t.Parallel()
	for setting, survives := range map[string]bool{"FULL": true, "OFF": false} {
		d, next := newDisk(t, t.TempDir()), newDisk(t, t.TempDir())
		s := open(t, filepath.Join(d.dir, "reprise.db"), Options{})
		s.writer.mu.Lock()
		err := s.writer.tx.conn.exec("PRAGMA synchronous = " + setting)
		s.writer.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		begin := newBegin()
		want(t, s, machine.Acquired, begin)
		d.powerLoss(t, next.dir, nil)
		found := apply(t, open(t, filepath.Join(next.dir, "reprise.db"), Options{}), machine.Inspect{Scope: begin.Scope})
		if (found.Outcome == machine.Found) != survives {
			t.Errorf("synchronous = %s, and then: %v", setting, found.Outcome)
		}
	}
}
