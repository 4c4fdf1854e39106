package database

import (
	"errors"
	"testing"
	"testing/fstest"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

// things are a kit of one table, without migrations.
type things struct{ create, put, read Statement }

// open returns a database of one connection, which is closed at the end of the test.
func (k *things) open(t *testing.T, dsn string) *DB {
	t.Helper()
	put, read := []byte("INSERT INTO things VALUES ($1)"), []byte("SELECT id FROM things ORDER BY id")
	d, err := connect(dsn, Kit{
		Name: "things", Versions: "things_schema", Statements: map[string]*Statement{"create": &k.create, "put": &k.put, "read": &k.read},
		Files: fstest.MapFS{
			"mysql/create.sql": {Data: []byte("CREATE TABLE things (id INT PRIMARY KEY) ENGINE = InnoDB")}, "mysql/put.sql": {Data: put}, "mysql/read.sql": {Data: read},
			"postgres/create.sql": {Data: []byte("CREATE TABLE things (id INT PRIMARY KEY)")}, "postgres/put.sql": {Data: put}, "postgres/read.sql": {Data: read},
		},
	}, Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// add adds a row in a transaction.
func (k *things) add(t *testing.T, d *DB, id int) error {
	return d.Change(t.Context(), func(tx *Tx) error { return tx.Run(k.put, id) })
}

// Because what was answered as done would be gone, or rows be left out, with what an administrator may have set for a whole server, for
// other programs: a statement by itself is committed, also after a transaction on its connection, and rows are read to the end.
func TestWhateverIsSetForTheServer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	dsn := server.Database(t)
	server.Exec("mysql", "SET GLOBAL autocommit = 0, completion_type = 'CHAIN', sql_select_limit = 1")
	var k things
	d := k.open(t, dsn)
	_, made := d.Do(t.Context(), k.create)
	changed := k.add(t, d, 1)
	_, done := d.Do(t.Context(), k.put, 2)
	if made != nil || changed != nil || done != nil {
		t.Fatal(made, changed, done)
	}
	var id, n int
	err := k.open(t, dsn).Look(t.Context(), func(tx *Tx) error {
		return tx.Each(k.read, nil, []any{&id}, func() error { n++; return nil })
	})
	if err != nil || n != 2 {
		t.Errorf("%d rows of 2: %v", n, err)
	}
}

// Because a connection that was made before a failover leads to a server that reads only for as long as it lives: it is given up, and the
// next one finds the server that writes.
func TestAConnectionToAServerThatReadsOnly(t *testing.T) {
	t.Parallel()
	for server, demoted := range map[string]string{
		servicetest.MariaDB(t).Database(t):  "SET SESSION TRANSACTION READ ONLY",
		servicetest.Postgres(t).Database(t): "SET default_transaction_read_only = on",
	} {
		var k things
		d := k.open(t, server)
		if _, err := d.Do(t.Context(), k.create); err != nil {
			t.Fatal(err)
		}
		if _, err := d.db.ExecContext(t.Context(), demoted); err != nil {
			t.Fatal(err)
		}
		if err := k.add(t, d, 1); !errors.Is(err, store.ErrUnavailable) || !dsn.Elsewhere(err) {
			t.Errorf("%s: a server that reads only: %v", demoted, err)
		}
		if err := k.add(t, d, 1); err != nil {
			t.Errorf("%s: the next one: %v", demoted, err)
		}
	}
}
