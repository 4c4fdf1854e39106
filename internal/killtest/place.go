package killtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"
)

// A process says what it does in lines: tried before an order is placed under a key, done once it is
// acknowledged.
const (
	tried = "tried"
	done  = "done"
)

// placers is how many orders a process places at a time.
const placers = 4

// Place places one order after the other, each under a new key of 64 hexadecimal digits, until it is killed,
// and says so to out. It returns the first error that order returns.
func Place(ctx context.Context, out io.Writer, order func(ctx context.Context, key string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for range placers {
		group.Go(func() error {
			for {
				key := newKey()
				if _, err := fmt.Fprintln(out, tried, key); err != nil {
					return err
				}
				if err := order(ctx, key); err != nil {
					return err
				}
				if _, err := fmt.Fprintln(out, done, key); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

const keyLength = 64

func newKey() string {
	var key [keyLength / 2]byte
	rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}
