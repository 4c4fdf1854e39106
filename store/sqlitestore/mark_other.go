//go:build !linux

package sqlitestore

import "os"

// fileMark tells one file from another, whatever their names.
type fileMark struct{ info os.FileInfo }

func markOf(path string) (fileMark, error) {
	info, err := os.Stat(path)
	return fileMark{info}, err
}

func (m fileMark) same(other fileMark) bool { return os.SameFile(m.info, other.info) }
