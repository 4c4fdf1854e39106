package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/store/internal/gather"
)

// What is not answered yet stands in a table where a row lives for as long as an action takes. Under load
// that table and its index would be nearly all dead when autovacuum comes, once a minute, and each command
// would have to find its way through it: it costs the server a quarter more. So the store vacuums the table
// itself, if its role may: it owns the table or the database, or from PostgreSQL 17 on has MAINTAIN on
// the table. Vacuuming blocks nobody, and what several processes do at once is done once.

// tidyAfter is after how many commands the table is vacuumed, at the earliest.
const tidyAfter = 8192

// rowsAPage is about how many rows a page of the table has room for.
const rowsAPage = 30

// tidyAll vacuums when there is something to, until the context ends or the server says that it may not.
func (s *Store) tidyAll(ctx context.Context) {
	for {
		select {
		case <-s.untidy:
		case <-ctx.Done():
			return
		}
		if s.writing.Load() < s.tidyAt.Load() {
			continue // the signal came during the last time
		}
		may, pages := true, int64(0)
		err := s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) (err error) {
			ctx, cancel := context.WithTimeoutCause(ctx, s.options.Timeout, gather.ErrSilent)
			defer cancel()
			may, pages, err = s.tidy(ctx, conn)
			return err
		})
		if err == nil && !may {
			return
		}
		// Where a long transaction keeps dead rows alive the table grows. To go through it costs a
		// command the same, however large it is.
		s.tidyAt.Store(s.writing.Load() + max(tidyAfter, pages*rowsAPage))
	}
}

// tidy vacuums once, and returns how large the table is.
func (s *Store) tidy(ctx context.Context, conn *pgx.Conn) (may bool, pages int64, err error) {
	if err := conn.QueryRow(ctx, s.sql.mayTidy).Scan(&may, &pages); err != nil || !may {
		return may, pages, err
	}
	_, err = conn.PgConn().Exec(ctx, s.sql.tidy).ReadAll() // it takes the simple protocol to be outside of a transaction everywhere
	return may, pages, err
}
