package sqlitestore

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileMark tells one file from another, whatever their names.
type fileMark struct {
	major, minor uint32
	inode        uint64
}

// markOf asks for the inode and nothing else. Who asks for a file's times as well, as stat(2) does, makes
// Linux give the next write to it a time of its own (multigrain timestamps, since 6.13), and the sync
// after that write waits for the file system's journal. One stat for each commit made commits a quarter slower.
func markOf(path string) (fileMark, error) {
	var s unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_SYNC_AS_STAT, unix.STATX_INO, &s); err != nil {
		return fileMark{}, fmt.Errorf("statx %s: %w", path, err)
	}
	return fileMark{s.Dev_major, s.Dev_minor, s.Ino}, nil
}

func (m fileMark) same(other fileMark) bool { return m == other }
