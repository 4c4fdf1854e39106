package sqlitestore

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"

	"github.com/reprise-dev/reprise/internal/faulttest"
)

// disk is the file system under the files of one directory, which fails as its plan says. Every read, write,
// truncation, sync and removal is an I/O. It remembers what was not synced yet, so that it can tell what
// a machine that loses power would find again.
type disk struct {
	*faulttest.Plan
	dir string

	mu    sync.Mutex
	cuts  func()            // is called before a file is truncated; nil: nothing is
	all   int32             // what every I/O that changes something fails with; 0: nothing
	files map[string]*image // by name
}

// image is a file as far as it is durable, and what was done to it since.
type image struct {
	durable []byte
	since   []change
}

// change is a write, or a truncation if it has no data.
type change struct {
	at   int64
	data []byte
}

func (i *image) apply(c change) {
	end := c.at + int64(len(c.data))
	if grow := end - int64(len(i.durable)); grow > 0 {
		i.durable = append(i.durable, make([]byte, grow)...)
	}
	if c.data == nil {
		i.durable = i.durable[:c.at]
	}
	copy(i.durable[c.at:], c.data)
}

// slowness is how long an I/O takes that is held.
const slowness = 200 * time.Millisecond

// newDisk puts a disk under a directory, for the rest of the process.
func newDisk(t testing.TB, dir string) *disk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir) // as SQLite does
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{dir: dir, files: map[string]*image{}, Plan: faulttest.NewPlan(
		[]faulttest.Fault{faulttest.Refused, faulttest.RequestLost, faulttest.ReplyLost, faulttest.RequestCut, faulttest.Held, faulttest.Died, faulttest.DiedAfter},
		[]faulttest.Fault{faulttest.Refused, faulttest.RequestLost, faulttest.ReplyLost, faulttest.RequestCut},
	)}
	if err := interpose(d); err != nil {
		t.Fatal(err)
	}
	return d
}

// fail lets everything that would change a file fail with a code of SQLite; 0 ends it.
func (d *disk) fail(code int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = code
}

// onCut lets a function be called before each truncation of a file.
func (d *disk) onCut(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cuts = f
}

// cut is called before a truncation.
func (d *disk) cut() {
	d.mu.Lock()
	cuts := d.cuts
	d.mu.Unlock()
	if cuts != nil {
		cuts()
	}
}

// io does an I/O, or what the plan says instead, and returns a code of SQLite. refused is the one for what is
// refused, broken for what fails. half does a part of it; nil: there are none.
func (d *disk) io(refused, broken int32, changes bool, half, whole func() int32) int32 {
	d.mu.Lock()
	all := d.all
	d.mu.Unlock()
	fault, release := d.Next()
	switch {
	case all != 0 && changes:
		return all
	case fault == faulttest.Refused:
		return refused
	case fault == faulttest.RequestLost, fault == faulttest.Died:
		return broken
	case fault == faulttest.RequestCut:
		if half != nil {
			half()
		}
		return broken
	case fault == faulttest.ReplyLost, fault == faulttest.DiedAfter:
		whole()
		return broken
	case fault == faulttest.Held:
		// Nothing can end the wait for a disk, so it ends by itself: longer than callers wait.
		slow := time.NewTimer(slowness)
		defer slow.Stop()
		select {
		case <-release:
		case <-slow.C:
		}
	}
	return whole()
}

// opened makes the image of a file that is opened for the first time. Nobody has a lock on it yet.
func (d *disk) opened(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] != nil {
		return nil
	}
	content, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	d.files[name] = &image{durable: content}
	return nil
}

func (d *disk) changed(name string, c change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		d.files[name] = &image{}
	}
	d.files[name].since = append(d.files[name].since, c)
}

// unsynced returns how many changes a sync that begins now makes durable.
func (d *disk) unsynced(name string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		return 0
	}
	return len(d.files[name].since)
}

func (d *disk) synced(name string, changes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	file := d.files[name]
	if file == nil {
		return
	}
	changes = min(changes, len(file.since)) // another sync may have ended meanwhile
	for _, c := range file.since[:changes] {
		file.apply(c)
	}
	file.since = file.since[changes:]
}

func (d *disk) removed(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.files, name)
}

// powerLoss writes what a machine that has lost power finds again into another directory: what was synced,
// and of everything else nothing, all, the first part, or any part, by choice; nil: nothing.
func (d *disk) powerLoss(t testing.TB, to string, choice *rand.Rand) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	survives := func(int, int) bool { return false }
	if choice != nil {
		survives = []func(i, of int) bool{
			survives,
			func(int, int) bool { return true },
			func(i, of int) bool { return i < of/2 },
			func(int, int) bool { return choice.IntN(2) == 0 },
		}[choice.IntN(4)]
	}
	for name, file := range d.files {
		found := image{durable: append([]byte(nil), file.durable...)}
		for i, c := range file.since {
			if survives(i, len(file.since)) {
				found.apply(c)
			}
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(name)), found.durable, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// interposed is the file system that stands before SQLite's own. It is registered once and stays: every
// connection of the process goes through it. Files outside of all disks it leaves alone.
var interposed struct {
	sync.Mutex
	below   uintptr // SQLite's own sqlite3_vfs
	methods uintptr // the sqlite3_io_methods of files on disks
	disks   map[string]*disk
	files   map[uintptr]*diskFile // by their sqlite3_file
}

// diskFile is an open file on a disk.
type diskFile struct {
	disk *disk
	name string
	file uintptr                  // SQLite's own sqlite3_file, which lies behind ours
	own  *lib.Tsqlite3_io_methods // and its methods
}

const headerSize = 16 // of our sqlite3_file

// interpose puts a disk under its directory.
func interpose(d *disk) error {
	interposed.Lock()
	defer interposed.Unlock()
	if interposed.disks == nil {
		if err := register(); err != nil {
			return err
		}
		interposed.disks, interposed.files = map[string]*disk{}, map[uintptr]*diskFile{}
	}
	interposed.disks[d.dir] = d
	return nil
}

// register makes our file system SQLite's default. What is allocated here is never given back.
func register() error {
	tls := libc.NewTLS()
	below := lib.Xsqlite3_vfs_find(tls, 0)
	vfs, methods := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_vfs{}))), libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(lib.Tsqlite3_io_methods{})))
	name, err := libc.CString("faultfile")
	if err != nil || below == 0 || vfs == 0 || methods == 0 {
		return fmt.Errorf("no file system to stand before, or no memory: %v", err)
	}
	own := at[lib.Tsqlite3_vfs](vfs)
	*own = *at[lib.Tsqlite3_vfs](below)
	own.FzName, own.FpNext, own.FszOsFile = name, 0, own.FszOsFile+headerSize
	own.FxOpen, own.FxDelete = function(openFile), function(deleteFile)
	*at[lib.Tsqlite3_io_methods](methods) = lib.Tsqlite3_io_methods{
		FiVersion: 2, FxClose: function(closeFile), FxRead: function(readFile), FxWrite: function(writeFile),
		FxTruncate: function(truncateFile), FxSync: function(syncFile), FxFileSize: function(fileSize),
		FxLock: function(lockFile), FxUnlock: function(unlockFile), FxCheckReservedLock: function(checkReservedLock),
		FxFileControl: function(fileControl), FxSectorSize: function(sectorSize), FxDeviceCharacteristics: function(deviceCharacteristics),
		FxShmMap: function(shmMap), FxShmLock: function(shmLock), FxShmBarrier: function(shmBarrier), FxShmUnmap: function(shmUnmap),
	}
	if code := lib.Xsqlite3_vfs_register(tls, vfs, 1); code != lib.SQLITE_OK {
		return fmt.Errorf("register: code %d", code)
	}
	interposed.below, interposed.methods = below, methods
	return nil
}

// diskOf returns the disk under a file, nil if there is none.
func diskOf(name string) *disk {
	interposed.Lock()
	defer interposed.Unlock()
	return interposed.disks[filepath.Dir(name)]
}

func fileOf(file uintptr) *diskFile {
	interposed.Lock()
	defer interposed.Unlock()
	return interposed.files[file]
}

// at, function and call take and give what C has as addresses. The memory behind them is not Go's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

func function(f any) uintptr { return (*[2]uintptr)(unsafe.Pointer(&f))[1] }

func call[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

func bytesAt(address uintptr, n int32) []byte { return unsafe.Slice(at[byte](address), n) }
