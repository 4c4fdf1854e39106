package mysqlstore

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
// arguments are the DSN and a digest.
const childEnv = "MYSQLSTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	work, ok := map[string]func(dsn string, digest machine.Digest) error{
		"burst": childBurst, "migrate": childMigrate, "orders": childOrders,
	}[os.Getenv(childEnv)]
	if !ok {
		// The server that all tests share ends with the process.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/reprise-dev/reprise/internal/servicetest.(*serverLog).collect"))
	}
	digest, err := machine.ParseDigest(os.Args[2])
	if err == nil {
		err = work(os.Args[1], digest)
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

// child returns the test binary as another process.
func child(t testing.TB, what, dsn string, digest machine.Digest) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], dsn, digest.String())
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

// childBurst begins one key from many callers, and says what each was told.
func childBurst(dsn string, digest machine.Digest) error {
	s, err := Open(context.Background(), dsn, Options{})
	if err != nil {
		return err
	}
	return errors.Join(killtest.Burst(s, 100, func() machine.Command {
		begin := newBegin()
		begin.Scope.Digest = digest
		return begin
	}), s.Close())
}

// childMigrate prepares the schema.
func childMigrate(dsn string, _ machine.Digest) error {
	if err := killtest.Ready(); err != nil {
		return err
	}
	status, err := Migrate(context.Background(), dsn)
	if err == nil {
		fmt.Println("version", status.Version)
	}
	return err
}

// childOrders places orders until it is killed.
func childOrders(dsn string, _ machine.Digest) error {
	pool, err := openDB(dsn)
	if err != nil {
		return err
	}
	return killtest.Place(context.Background(), os.Stdout, func(ctx context.Context, key string) error {
		return orderUnder(ctx, pool, key)
	})
}
