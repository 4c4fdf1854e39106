package database

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// Explain returns how the server would run a statement, for tests that look which index serves it: a line for each step; of
// MariaDB with the names of its columns.
func (d *DB) Explain(ctx context.Context, s Statement, arguments ...any) (string, error) {
	rows, err := d.db.QueryContext(ctx, d.sql.explain.text+" "+s.text, s.arguments(arguments)...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	values, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		to[i] = &values[i]
	}
	var plan strings.Builder
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return "", err
		}
		for i, v := range values {
			fmt.Fprintf(&plan, "%s=%s ", columns[i], v.String)
		}
		plan.WriteString("\n")
	}
	return plan.String(), rows.Err()
}
