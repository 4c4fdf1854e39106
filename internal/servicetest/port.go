//go:build unix

package servicetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
)

// Ports are taken below those that systems give to clients. A client must not come to hold the port of a
// server that is down for a moment, or to find itself at the other end.
const (
	lowestPort = 15000
	portCount  = 17000
)

// freePort returns a port of 127.0.0.1 that nobody listens on at this moment, nor on those that lie at
// some distances above it.
func freePort(distances ...int) (int, error) {
	highest := slices.Max(append(distances, 0))
	var failed error
	for range 100 {
		port := lowestPort + rand.IntN(portCount-highest)
		if failed = free(port, distances); failed == nil {
			return port, nil
		}
	}
	return 0, errors.Join(errors.New("no free port found"), failed)
}

// free returns an error if somebody listens on one of the ports.
func free(port int, distances []int) error {
	for _, distance := range append([]int{0}, distances...) {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+distance))
		if err != nil {
			return err
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}
