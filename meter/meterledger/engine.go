package meterledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/reprise-dev/reprise/meter"
)

// engine is what differs between the servers, beside the statements. There are two: postgres and mysql.
type engine interface {
	// fmt.Stringer returns the DSN as a person may see it.
	fmt.Stringer
	// connect returns a pool whose sessions are as the statements need them.
	connect(Options, *queries) (*sql.DB, error)
	// files are the engine's statements, with their migrations in schema/.
	files() fs.FS
	// form puts a statement into the form that the driver wants, and says in which order it wants arguments:
	// nil for that of their numbers.
	form(sql string) (text string, order []int)
	// prepare makes what goose needs to begin, in the transaction that holds the lock of the schema.
	prepare(context.Context, *sql.Tx, *queries) error
	// goose says how goose is to work.
	goose() (goose.Dialect, []goose.ProviderOption)
	// again reports whether an error says that two transactions were in each other's way.
	again(error) bool
	// absent reports whether an error says that a table is not there.
	absent(error) bool
	// insert executes an insert of one row and returns the number that the server gave it.
	insert(*transaction, statement, ...any) (int64, error)
	// appendDone executes the statement that appends rows of a generation to the done log, in the form that is the
	// cheapest for the server, and returns how many were added.
	appendDone(*transaction, statement, meter.Generation, []meter.Row) (int64, error)
}

// statement is SQL in the form that the driver of an engine wants.
type statement struct {
	text  string
	order []int
}

// arguments puts arguments into the order in which the driver wants them.
func (s statement) arguments(all []any) []any {
	if s.order == nil {
		return all
	}
	ordered := make([]any, len(s.order))
	for i, n := range s.order {
		ordered[i] = all[n]
	}
	return ordered
}

//go:embed postgres
var postgresFiles embed.FS

//go:embed mysql
var mysqlFiles embed.FS

// withoutComments leaves out the lines that are comments: they are for readers, not for the wire.
func withoutComments(sql string) string {
	var b strings.Builder
	for line := range strings.Lines(sql) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

// instant returns a time of the server.
func instant(microseconds int64) time.Time {
	if microseconds == 0 {
		return time.Time{}
	}
	return time.UnixMicro(microseconds).UTC()
}
