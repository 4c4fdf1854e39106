package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/machine"
)

// childEnv makes the test binary be another process on the same file; its value is what to do.
const childEnv = "SQLITESTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		goleak.VerifyTestMain(m)
	case "burst":
		runChild(childBurst)
	case "write":
		runChild(childWrite)
	case "open":
		runChild(childOpen)
	case "orders":
		runChild(childOrders)
	}
}

// child returns the test binary as another process. Its arguments are the file and what the child takes.
func child(t testing.TB, what string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	return cmd
}

func runChild(work func(*Store) error) {
	s, err := Open(context.Background(), os.Args[1], Options{})
	if err == nil {
		if err = work(s); err == nil {
			err = s.Close()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stdout, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// childOpen only says whether it made the database.
func childOpen(s *Store) error {
	_, err := fmt.Println("created", s.Created())
	return err
}

// childBurst begins one key from many callers, and says what each was told.
func childBurst(s *Store) error {
	digest, err := machine.ParseDigest(os.Args[2])
	if err != nil {
		return err
	}
	return killtest.Burst(s, 50, func() machine.Command {
		begin := newBegin()
		begin.Scope.Digest = digest
		return begin
	})
}

// childWrite begins and completes keys until it is killed, and says which were acknowledged.
func childWrite(s *Store) error {
	acknowledged := make(chan machine.Digest)
	for range 32 {
		go func() {
			for {
				begin := newBegin()
				if reply, err := s.Apply(context.Background(), begin); err != nil || reply.Outcome != machine.Acquired {
					continue
				}
				if reply, err := s.Apply(context.Background(), completion(begin, []byte(begin.Scope.Digest.String()))); err == nil && reply.Outcome == machine.CompletedNow {
					acknowledged <- begin.Scope.Digest
				}
			}
		}()
	}
	for digest := range acknowledged {
		if _, err := fmt.Println(digest); err != nil {
			return err
		}
	}
	return nil
}

// childOrders places orders until it is killed.
func childOrders(s *Store) error {
	db, err := sql.Open("sqlite", "file:"+s.path+"?_pragma=synchronous(FULL)")
	if err != nil {
		return err
	}
	go func() { // the store's own commands go on beside them
		for {
			claim := newBegin().Claim
			claim.Scope.Operation = "beside"
			if _, err := s.Apply(context.Background(), claim); err != nil {
				return
			}
			hold := machine.Hold{Scope: claim.Scope, Owner: claim.Owner, Attempt: 1, Revision: 1, Operation: claim.Operation}
			if _, err := s.Apply(context.Background(), machine.Release{Hold: hold}); err != nil {
				return
			}
		}
	}()
	return killtest.Place(context.Background(), os.Stdout, func(ctx context.Context, key string) error {
		return orderUnder(ctx, s, db, key)
	})
}
