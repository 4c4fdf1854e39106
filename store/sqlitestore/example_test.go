package sqlitestore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/reprise-dev/reprise"
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

// An order and the answer to its request commit together: the same request again is answered, and nothing is
// ordered.
func ExampleDo() {
	shop, err := openShop()
	if err != nil {
		log.Fatal(err)
	}
	defer shop.close()
	for range 2 {
		invocation, err := shop.guard.Prepare(reprise.Call{Operation: "create order", Principal: "customer 42", Key: "b5f1c9d2", Payload: []byte("tea")})
		if err != nil {
			log.Fatal(err)
		}
		effects := sqlitestore.Effects{Store: shop.records}
		effect, err := effects.Do(context.Background(), shop.db, invocation, func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
			order, err := tx.ExecContext(ctx, "INSERT INTO orders (item) VALUES ('tea')")
			if err != nil {
				return machine.Response{}, err // nothing is recorded, and nothing is ordered
			}
			id, err := order.LastInsertId()
			return machine.NewResponse(reprise.CodecRaw, fmt.Appendf(nil, "order %d", id)), err
		})
		fmt.Printf("%s, replayed: %v, %v\n", effect.Response.Data, effect.Replayed, err)
	}
	// Output:
	// order 1, replayed: false, <nil>
	// order 1, replayed: true, <nil>
}

// A program that has a transaction already lets an effect join it, and commits both.
func ExampleJoinSQL() {
	shop, err := openShop()
	if err != nil {
		log.Fatal(err)
	}
	defer shop.close()
	ctx := context.Background()
	invocation, err := shop.guard.Prepare(reprise.Call{Operation: "create order", Principal: "customer 42", Key: "b5f1c9d2", Payload: []byte("tea")})
	if err != nil {
		log.Fatal(err)
	}
	tx, err := shop.db.BeginTx(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer tx.Rollback()
	effect, err := sqlitestore.JoinSQL(ctx, tx, invocation, func(ctx context.Context) (machine.Response, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (item) VALUES ('tea')")
		return machine.NewResponse(reprise.CodecRaw, []byte("ordered")), err
	})
	if err == nil {
		err = tx.Commit()
	}
	fmt.Printf("%s, %v\n", effect.Response.Data, err)
	// Output: ordered, <nil>
}

// shop keeps its orders and its records in one file.
type shop struct {
	dir     string
	records *sqlitestore.Store
	guard   *reprise.Guard
	db      *sql.DB
}

func openShop() (s *shop, err error) {
	s = &shop{}
	if s.dir, err = os.MkdirTemp("", "example"); err != nil {
		return nil, err
	}
	path := filepath.Join(s.dir, "shop.db")
	// The store makes the file. In a database that is there already it is opened with Options.Beside.
	if s.records, err = sqlitestore.Open(context.Background(), path, sqlitestore.Options{}); err != nil {
		return nil, err
	}
	secrets, err := reprise.NewSecrets(reprise.Secret{Version: 1, Bytes: []byte("32 random bytes, kept in a vault")})
	if err != nil {
		return nil, err
	}
	if s.guard, err = reprise.New(s.records, reprise.Policy{Secrets: secrets}); err != nil {
		return nil, err
	}
	if s.db, err = sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(FULL)"); err != nil {
		return nil, err
	}
	_, err = s.db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)")
	return s, err
}

func (s *shop) close() error {
	return errors.Join(s.db.Close(), s.guard.Close(context.Background()), s.records.Close(), os.RemoveAll(s.dir))
}
