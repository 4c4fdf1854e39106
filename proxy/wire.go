package proxy

import (
	"errors"
	"net"
	"sync"
)

var errSealed = errors.New("the connection was given up")

// wire is a connection to the upstream that counts what was written on it. It sits above TLS, so that
// it counts bytes of requests and not handshakes or alerts.
type wire struct {
	net.Conn
	socket net.Conn // the TCP connection itself, below TLS

	mu     sync.Mutex
	sent   int64
	sealed bool
}

// Write implements [net.Conn]. The lock is held while writing: seal waits for it.
func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sealed {
		return 0, errSealed
	}
	n, err := w.Conn.Write(p)
	w.sent += int64(n)
	return n, err
}

// mark returns a number to give to seal.
func (w *wire) mark() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent
}

// seal closes the connection and reports whether anything was written since the mark. The answer is
// final: closing ends a write that is under way, and none begins afterwards.
func (w *wire) seal(mark int64) (written bool) {
	w.Conn.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sealed = true
	return w.sent != mark
}
