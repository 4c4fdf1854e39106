package reprise_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

// Order is what the shop of the README makes.
type Order struct{ Number int }

type Shop struct{ orders int }

func (s *Shop) Create(context.Context, string) (Order, error) {
	s.orders++
	return Order{Number: s.orders}, nil
}

// The README shows the lines between the two comments; internal/archtest compares them.
func createOrder(ctx context.Context, path string, secrets *reprise.Secrets, shop *Shop) (err error) {
	// README begins
	records, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer records.Close()
	guard, err := reprise.New(records, reprise.Policy{Secrets: secrets})
	if err != nil {
		return err
	}
	call := reprise.Call{Operation: "create order", Principal: "customer 42", Key: "b5f1c9d2", Payload: []byte("tea")}
	order, err := reprise.DoJSON(ctx, guard, call, func(ctx context.Context, run *reprise.Run) (Order, error) {
		return shop.Create(ctx, "tea") // once, however often this is called, also after a restart
	})
	if errors.Is(err, reprise.ErrUnknown) {
		return err // it may have happened; it is not run again until somebody has found out and settled it
	}
	// README ends
	fmt.Println("order", order.Number, "of", shop.orders, err)
	return nil
}

// The same call twice, the second time after everything was opened again.
func Example() {
	dir, err := os.MkdirTemp("", "reprise-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: []byte("32 random bytes, kept in a vault")})
	if err != nil {
		log.Fatal(err)
	}
	shop := &Shop{}
	for range 2 {
		if err := createOrder(context.Background(), filepath.Join(dir, "orders.db"), secrets, shop); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// order 1 of 1 <nil>
	// order 1 of 1 <nil>
}
