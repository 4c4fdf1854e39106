package restoretest

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

//go:embed populate.sql
var populateSQL string

// What a meter of [Populate] has, for so many lines.
const (
	// LinesOfFamily is how many lines there are for each family; half of them are in it.
	LinesOfFamily = 10
	// TotalsOfLine is how many daily totals each line has, and UnfoldedOfLine how many rows that no fold has taken in.
	TotalsOfLine   = 3
	UnfoldedOfLine = 0.5
)

// Populate makes a meter with so many lines in a ledger in PostgreSQL that has none: plans, grants, done log, totals and snapshots, all of
// which fit together. What it wrote is of no generation that is current, so it is there to be restored.
func Populate(ctx context.Context, dsn string, lines int) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := conn.Exec(ctx, "SELECT set_config('reprise.lines', $1, false)", strconv.Itoa(lines)); err != nil {
		return err
	}
	for _, statement := range strings.Split(populateSQL, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%.60q: %w", statement, err)
		}
	}
	return nil
}
