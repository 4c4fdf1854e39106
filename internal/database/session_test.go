package database

import (
	"testing"
	"testing/fstest"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// Because what was answered as done would be gone, or rows be left out, with what an administrator may have set for a whole server, for
// other programs: a statement by itself is committed, also after a transaction on its connection, and rows are read to the end.
func TestWhateverIsSetForTheServer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	dsn := server.Database(t)
	server.Exec("mysql", "SET GLOBAL autocommit = 0, completion_type = 'CHAIN', sql_select_limit = 1")
	var make, put, read Statement
	kit := Kit{
		Name: "things", Versions: "things_schema", Statements: map[string]*Statement{"make": &make, "put": &put, "read": &read},
		Files: fstest.MapFS{
			"mysql/make.sql": {Data: []byte("CREATE TABLE things (id INT PRIMARY KEY) ENGINE = InnoDB")},
			"mysql/put.sql":  {Data: []byte("INSERT INTO things VALUES ($1)")},
			"mysql/read.sql": {Data: []byte("SELECT id FROM things ORDER BY id")},
		},
	}
	open := func() *DB {
		d, err := connect(dsn, kit, Options{MaxConns: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	d := open()
	_, made := d.Do(t.Context(), make)
	changed := d.Change(t.Context(), func(tx *Tx) error { return tx.Run(put, 1) })
	_, done := d.Do(t.Context(), put, 2)
	if made != nil || changed != nil || done != nil {
		t.Fatal(made, changed, done)
	}
	var id, n int
	err := open().Look(t.Context(), func(tx *Tx) error {
		return tx.Each(read, nil, []any{&id}, func() error { n++; return nil })
	})
	if err != nil || n != 2 {
		t.Errorf("%d rows of 2: %v", n, err)
	}
}
