//go:build unix

package servicetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken below those that systems give to clients. A client must not come to hold the port of a
// server that is down for a moment, or to find itself at the other end.
const (
	lowestPort = 15000
	portCount  = 17000
)

// freePort returns a port of 127.0.0.1 that nobody listens on at this moment.
func freePort() (int, error) {
	var failed error
	for range 100 {
		port := lowestPort + rand.IntN(portCount)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return port, listener.Close()
		}
		failed = err
	}
	return 0, errors.Join(errors.New("no free port found"), failed)
}
