package dsn

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// What a server says before it has confirmed a commit does not show that there was none.
func TestUndone(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"23505": true, "57P03": true, "57014": true, "57P01": false, "57P02": false, "08006": false, "40003": false, "": false} {
		if err := fmt.Errorf("said: %w", &pgconn.PgError{Code: code}); PostgresUndone(err) != want {
			t.Errorf("%q: %v", code, !want)
		}
	}
	if PostgresUndone(&pgconn.PgError{Code: "58030", Severity: "PANIC"}) {
		t.Error("a server that panicked has undone it")
	}
	for number, want := range map[uint16]bool{
		1062: true, 1213: true, 3024: true, 3572: true, 4025: true, 1053: false, 1317: false, 1927: false, 1180: false, 0: false,
		1598: false, 1969: false, 2013: false, 2006: false, 2003: false, 9001: false,
	} {
		if err := fmt.Errorf("said: %w", &mysql.MySQLError{Number: number}); MySQLUndone(err) != want {
			t.Errorf("%d: %v", number, !want)
		}
	}
	if err := errors.New("reset"); PostgresUndone(err) || MySQLUndone(err) {
		t.Error("a connection that broke has undone it")
	}
}
