package mysqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	_ "github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/mysqlstore"
)

func ExampleOpen() {
	s, err := mysqlstore.Open(context.Background(), "mysql://reprise@127.0.0.1:1/shop", mysqlstore.Options{})
	if err != nil {
		fmt.Println("nobody listens there:", store.Classify(err))
		return
	}
	defer s.Close()
	// Output: nobody listens there: store unavailable
}

func ExamplePrint() {
	script, err := mysqlstore.Print("shop_service")
	fmt.Println(strings.Contains(script, "GRANT SELECT ON reprise_schema TO `shop_service`@`%`"), err)
	// Output: true <nil>
}

// An order and the answer to its request commit together. A guard prepares the invocation.
func ExampleDo() {
	place := func(ctx context.Context, db *sql.DB, invocation *store.Invocation, item string) (string, error) {
		effect, err := mysqlstore.Do(ctx, db, invocation, func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			result, err := tx.ExecContext(ctx, "INSERT INTO orders (item) VALUES (?)", item)
			if err != nil {
				return machine.Response{}, err // nothing is recorded, and nothing is ordered
			}
			id, err := result.LastInsertId()
			return machine.NewResponse("text/1", fmt.Appendf(nil, "order %d", id)), err
		})
		return string(effect.Response.Data), err
	}
	db, err := sql.Open("mysql", "shop@tcp(127.0.0.1:1)/shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	_, err = place(context.Background(), db, &store.Invocation{}, "a book")
	fmt.Println(store.Classify(err))
	// Output: store unavailable
}
