package reprise_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/memstore"
)

func exampleGuard() *reprise.Guard {
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: bytes.Repeat([]byte{7}, 32)})
	if err != nil {
		panic(err)
	}
	guard, err := reprise.New(memstore.New(nil), reprise.Policy{Secrets: secrets})
	if err != nil {
		panic(err)
	}
	return guard
}

func ExampleDoJSON() {
	type Order struct{ Number int }
	guard, made := exampleGuard(), 0
	call := reprise.Call{Operation: "create order", Principal: "alice", Key: "7d5c", Payload: []byte("2 books")}
	for range 2 {
		order, err := reprise.DoJSON(context.Background(), guard, call, func(ctx context.Context, run *reprise.Run) (Order, error) {
			made++
			return Order{Number: 17}, nil
		})
		fmt.Println(order.Number, err, "orders made:", made)
	}
	call.Payload = []byte("3 books")
	_, err := reprise.DoJSON(context.Background(), guard, call, func(ctx context.Context, run *reprise.Run) (Order, error) {
		return Order{}, nil
	})
	fmt.Println(errors.Is(err, reprise.ErrMismatch))
	// Output:
	// 17 <nil> orders made: 1
	// 17 <nil> orders made: 1
	// true
}

func ExampleGuard_Do() {
	guard := exampleGuard()
	charge := func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		// The payment service gets a key of its own, the same one on every attempt.
		_ = run.DownstreamKey("charge")
		return reprise.Response{}, errors.New("connection reset")
	}
	call := reprise.Call{Operation: "charge", Principal: "alice", Key: "7d5c"}
	_, err := guard.Do(context.Background(), call, charge)
	fmt.Println(errors.Is(err, reprise.ErrUnknown)) // did the service get it? nobody knows
	_, err = guard.Do(context.Background(), call, charge)
	fmt.Println(errors.Is(err, reprise.ErrUnknown)) // and it is not sent again to find out
	// Output:
	// true
	// true
}

func ExampleNoEffect() {
	guard := exampleGuard()
	call := reprise.Call{Operation: "charge", Principal: "alice", Key: "7d5c"}
	_, err := guard.Do(context.Background(), call, func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		return reprise.Response{}, reprise.NoEffect(errors.New("connection refused")) // it never left
	})
	fmt.Println(err)
	outcome, err := guard.Do(context.Background(), call, func(ctx context.Context, run *reprise.Run) (reprise.Response, error) {
		return reprise.Response{Data: []byte("charged")}, nil
	})
	fmt.Println(string(outcome.Response.Data), outcome.Attempt, err)
	// Output:
	// reprise: no effect: connection refused
	// charged 2 <nil>
}
