package pgstore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

const (
	scanChunk = 1000   // rows of one query
	scanLimit = 10_000 // rows that one page looks at
)

// List implements [store.Lister]. Records come in the order of their digests, and the cursor is the digest
// of the last one that was looked at. A page is one snapshot, and looks at 10,000 rows at most. Answers
// are read for the records that fit only.
func (s *Store) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if err := store.PageLimit(limit); err != nil {
		return store.Page{}, err
	}
	return s.list(ctx, filter, cursor, limit, scanLimit)
}

func (s *Store) list(ctx context.Context, filter store.Filter, cursor string, limit, rows int) (page store.Page, err error) {
	after, err := store.DigestCursor(cursor)
	if err != nil {
		return page, err
	}
	err = s.inSnapshot(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if page.At, err = s.now(ctx, tx); err != nil {
			return err
		}
		scan := scan{tx: tx, sql: s.queryFor(filter), after: after}
		more, err := scan.run(ctx, rows, func(row scanned) bool {
			if row.record == nil {
				page.Unreadable = append(page.Unreadable, row.digest)
			} else if filter.Match(row.record, page.At) {
				page.Records = append(page.Records, row.record)
			}
			return len(page.Records)+len(page.Unreadable) < limit
		})
		if err != nil {
			return err
		}
		if more {
			page.Next = scan.after.String()
		}
		return s.addAnswers(ctx, tx, &page)
	})
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

// queryFor reads only the small table where the filter allows it: whoever looks for what is stuck does not
// read through the answers.
func (s *Store) queryFor(filter store.Filter) string {
	answered := func(s machine.State) bool { return s == machine.Completed || s == machine.Expired }
	if len(filter.States) == 0 || slices.ContainsFunc(filter.States, answered) {
		return s.sql.list
	}
	return s.sql.scanOpen
}

// addAnswers reads the answers of a page's records.
func (s *Store) addAnswers(ctx context.Context, tx pgx.Tx, page *store.Page) error {
	var heads, tails pgtype.FlatArray[pgtype.UUID]
	for _, r := range page.Records {
		heads, tails = append(heads, head(r.Scope.Digest)), append(tails, tail(r.Scope.Digest))
	}
	rows, err := tx.Query(ctx, s.sql.listAnswers, heads, tails)
	if err != nil {
		return err
	}
	records := page.Records
	page.Records = nil
	var answer []byte
	i := 0
	_, err = pgx.ForEachRow(rows, []any{&answer}, func() error {
		r := records[i]
		i++
		if answer != nil {
			if r.Response, err = form.UnpackAnswer(answer); err != nil {
				page.Unreadable = append(page.Unreadable, r.Scope.Digest)
				return nil
			}
			answer = nil
		}
		page.Records = append(page.Records, r)
		return nil
	})
	return err
}

// inSnapshot reads in a transaction that sees one state of the database.
func (s *Store) inSnapshot(ctx context.Context, work func(ctx context.Context, tx pgx.Tx) error) error {
	return unsent(ctx, s.errand(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }() // it has changed nothing
		return work(ctx, tx)
	}))
}

// scanned is a row that was looked at, without its answer. Its record is nil if it cannot be read.
type scanned struct {
	digest machine.Digest
	record *machine.Record
}

// scan looks at rows in the order of their digests, in chunks.
type scan struct {
	tx    pgx.Tx
	sql   string
	after machine.Digest // of the last row that was looked at
}

// run looks at rows until visit returns false or limit rows were seen. It reports whether there may be
// more.
func (s *scan) run(ctx context.Context, limit int, visit func(scanned) bool) (more bool, err error) {
	for limit > 0 {
		size := min(scanChunk, limit)
		chunk, err := s.chunk(ctx, size)
		if err != nil {
			return false, err
		}
		for i, row := range chunk {
			s.after = row.digest
			if !visit(row) {
				return i+1 < len(chunk) || len(chunk) == size, nil
			}
		}
		if len(chunk) < size {
			return false, nil
		}
		limit -= len(chunk)
	}
	return true, nil
}

func (s *scan) chunk(ctx context.Context, limit int) ([]scanned, error) {
	rows, err := s.tx.Query(ctx, s.sql, head(s.after), tail(s.after), limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(from pgx.CollectableRow) (scanned, error) {
		var first, second pgtype.UUID
		var claimedAt int64
		var forgetAt pgtype.Int8
		var found form.Row
		if err := from.Scan(&first, &second, &found.Answered, &claimedAt, &forgetAt, &found.Record); err != nil {
			return scanned{}, err
		}
		found.ClaimedAt, found.ForgetAt = machine.Instant(claimedAt), machine.Instant(forgetAt.Int64)
		digest := whole(first, second)
		record, err := unpack(digest, found)
		if err != nil {
			record = nil // it is listed as unreadable
		}
		return scanned{digest, record}, nil
	})
}
