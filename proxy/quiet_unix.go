//go:build unix

package proxy

import (
	"net"
	"syscall"
)

// quiet reports whether an idle connection is as it should be: open, and nothing to read. It looks
// without reading, so that an upstream's close is seen here rather than after a request was written.
func quiet(socket net.Conn) bool {
	raw, ok := socket.(syscall.Conn)
	if !ok {
		return true
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	// Control, not Read: the transport is blocked in a read of its own and holds that lock.
	err = control.Control(func(fd uintptr) {
		var peek [1]byte
		_, _, e := syscall.Recvfrom(int(fd), peek[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		silent = e == syscall.EAGAIN || e == syscall.EWOULDBLOCK || e == syscall.EINTR
	})
	return err == nil && silent
}
