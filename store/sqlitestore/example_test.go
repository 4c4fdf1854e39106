package sqlitestore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, filepath.Join(dir, "reprise.db"), sqlitestore.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	fmt.Println("new:", s.Created())

	reply, err := s.Apply(ctx, machine.Inspect{Scope: machine.Scope{Operation: "POST /orders", Digest: machine.Digest{1}}})
	fmt.Println(reply.Outcome, err)
	// Output:
	// new: true
	// not-found <nil>
}

func ExampleMigrate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	status, err := sqlitestore.Migrate(context.Background(), filepath.Join(dir, "reprise.db"))
	fmt.Println(status.Version == status.Latest, status.Pending(), err)
	// Output: true false <nil>
}
