//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// columnsOf is how wide a terminal is.
func columnsOf(file *os.File) int {
	if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return usualColumns
}
