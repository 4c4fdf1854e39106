package pgstore_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/pgstore"
)

func ExampleOpen() {
	s, err := pgstore.Open(context.Background(), "postgres://reprise@127.0.0.1:1/shop?connect_timeout=5", pgstore.Options{})
	if err != nil {
		fmt.Println("nobody listens there:", store.Classify(err))
		return
	}
	defer s.Close()
	// Output: nobody listens there: store unavailable
}

func ExamplePrint() {
	script, err := pgstore.Print("reprise", "shop_service")
	fmt.Println(strings.Contains(script, `GRANT USAGE ON SCHEMA reprise TO "shop_service"`), err)
	// Output: true <nil>
}

// An order and the answer to its request commit together. A guard prepares the invocation.
func ExampleDo() {
	place := func(ctx context.Context, pool *pgxpool.Pool, invocation *store.Invocation, item string) (string, error) {
		effect, err := pgstore.Do(ctx, pool, invocation, func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
			var id int64
			if err := tx.QueryRow(ctx, "INSERT INTO orders (item) VALUES ($1) RETURNING id", item).Scan(&id); err != nil {
				return machine.Response{}, err // nothing is recorded, and nothing is ordered
			}
			return machine.NewResponse("text/1", fmt.Appendf(nil, "order %d", id)), nil
		})
		return string(effect.Response.Data), err
	}
	pool, err := pgxpool.New(context.Background(), "postgres://shop@127.0.0.1:1/shop?connect_timeout=5")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	_, err = place(context.Background(), pool, &store.Invocation{}, "a book")
	fmt.Println(store.Classify(err))
	// Output: store unavailable
}
