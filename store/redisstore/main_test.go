package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/machine"
)

// childEnv makes the test binary be another process on the same database; its value is what to do. The
// arguments are the DSN and what the child takes.
const childEnv = "REDISSTORE_TEST_CHILD"

// The server that all tests share ends with the process. What the client of a cluster starts when the cluster
// has changed ends by itself within seconds.
func TestMain(m *testing.M) {
	work, ok := map[string]func(s *Store, args []string) error{
		"burst": childBurst, "takeover": childTakeover, "orders": childOrders,
	}[os.Getenv(childEnv)]
	if !ok {
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/reprise-dev/reprise/internal/servicetest.(*serverLog).collect"),
			goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient)._refresh.func2"),
			goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*clusterClient).redirectOrNew.func1"),
			goleak.IgnoreAnyFunction("github.com/redis/rueidis.(*call).DelayDo.func1"))
	}
	s, err := Open(context.Background(), os.Args[1], Options{})
	if err == nil {
		err = errors.Join(work(s, os.Args[2:]), s.Close())
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// child returns the test binary as another process.
func (d *database) child(what string, args ...string) *exec.Cmd {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), os.Args[0], append([]string{d.dsn}, args...)...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// childBurst begins one key from many callers.
func childBurst(s *Store, args []string) error {
	return ofKey(args[0], func(begin machine.Begin) error {
		return killtest.Burst(s, 100, func() machine.Command { return anotherCaller(begin) })
	})
}

// childTakeover takes over a key that was given up, once.
func childTakeover(s *Store, args []string) error {
	return ofKey(args[0], func(begin machine.Begin) error {
		begin.Seen = 1
		return killtest.Burst(s, 1, func() machine.Command { return begin })
	})
}

// childOrders places orders until it is killed.
func childOrders(s *Store, args []string) error {
	return killtest.Place(context.Background(), os.Stdout, func(ctx context.Context, key string) error {
		_, err := placeOrder(ctx, s, key, args)
		return err
	})
}

// ofKey does something with a begin of a key that is named by its digest.
func ofKey(digest string, work func(machine.Begin) error) (err error) {
	begin := newBegin()
	if begin.Scope.Digest, err = machine.ParseDigest(digest); err != nil {
		return err
	}
	return work(begin)
}
