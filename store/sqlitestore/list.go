package sqlitestore

import (
	"context"
	"database/sql/driver"
	"slices"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

const (
	scanChunk = 500    // rows of one query: a snapshot is held no longer than that
	scanLimit = 10_000 // rows that one page looks at
)

// List implements [store.Lister]. Records come in the order of their digests, and the cursor is the
// digest of the last one that was looked at. A page looks at 10,000 rows at most.
func (s *Store) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	if err := store.PageLimit(limit); err != nil {
		return store.Page{}, err
	}
	return s.list(ctx, filter, cursor, limit, scanLimit)
}

func (s *Store) list(ctx context.Context, filter store.Filter, cursor string, limit, rows int) (store.Page, error) {
	page := store.Page{}
	after, err := store.DigestCursor(cursor)
	if err != nil {
		return page, err
	}
	r, err := s.borrow(ctx)
	if err != nil {
		return page, err
	}
	defer s.giveBack(r)
	page.At = machine.InstantOf(s.now())
	scan := scan{conn: r.conn, sql: queryFor(filter), after: after[:]}
	more, err := scan.run(ctx, rows, func(row scanned) bool {
		if row.record == nil {
			page.Unreadable = append(page.Unreadable, row.digest)
		} else if filter.Match(row.record, page.At) {
			page.Records = append(page.Records, row.record)
		}
		return len(page.Records)+len(page.Unreadable) < limit
	})
	if err != nil {
		return store.Page{}, s.certain(err)
	}
	if more {
		page.Next = machine.Digest(scan.after).String()
	}
	return page, nil
}

// queryFor chooses the smaller index where the filter allows it: whoever looks for what is stuck does
// not read through the answers.
func queryFor(filter store.Filter) string {
	answered := func(s machine.State) bool { return s == machine.Completed || s == machine.Expired }
	if len(filter.States) == 0 || slices.ContainsFunc(filter.States, answered) {
		return listSQL
	}
	return listOpenSQL
}

// scanned is a row that was looked at. Its record is nil if it cannot be read.
type scanned struct {
	digest machine.Digest
	record *machine.Record
}

// scan looks at rows in the order of their digests, in chunks.
type scan struct {
	conn  *conn
	sql   string
	after []byte // digest of the last row that was looked at
}

// run looks at rows until visit returns false or limit rows were seen. It reports whether there may be
// more.
func (s *scan) run(ctx context.Context, limit int, visit func(scanned) bool) (more bool, err error) {
	for limit > 0 {
		if err := ctx.Err(); err != nil {
			return false, store.Unavailable(context.Cause(ctx))
		}
		chunk, err := s.chunk(min(scanChunk, limit))
		if err != nil {
			return false, err
		}
		for i, row := range chunk {
			s.after = row.digest[:]
			if !visit(row) {
				return i+1 < len(chunk) || len(chunk) == min(scanChunk, limit), nil
			}
		}
		if len(chunk) < min(scanChunk, limit) {
			return false, nil
		}
		limit -= len(chunk)
	}
	return true, nil
}

func (s *scan) chunk(limit int) (rows []scanned, err error) {
	err = s.conn.query(s.sql, 2, func(row []driver.Value) error {
		digest, err := digestOf(row[0])
		if err != nil {
			return err
		}
		packed, _ := row[1].([]byte)
		record, _ := decode(digest, packed) // what cannot be read is listed as such
		rows = append(rows, scanned{digest, record})
		return nil
	}, s.after, int64(limit))
	return rows, err
}
