package database

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// A statement that commits itself may be committed when the server ends the connection.
func TestAnAnswerThatLeavesItOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		engine engine
		err    error
		undone bool
	}{
		{postgres{}, &pgconn.PgError{Code: "57P01"}, false},
		{postgres{}, &pgconn.PgError{Code: "23514"}, true},
		{mariadb{}, &mysql.MySQLError{Number: 1927}, false},
		{mariadb{}, &mysql.MySQLError{Number: 1406}, true},
	} {
		if c.engine.undone(c.err) != c.undone {
			t.Errorf("%v: undone: %v", c.err, !c.undone)
		}
	}
}
