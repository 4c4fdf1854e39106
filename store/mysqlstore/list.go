package mysqlstore

import (
	"context"
	"database/sql/driver"
	"slices"

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
	err = s.inSnapshot(ctx, func(c *conn, at machine.Instant) error {
		page.At = at
		scan := scan{conn: c, sql: s.queryFor(filter), after: after}
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
		return s.addAnswers(ctx, c, &page)
	})
	if err != nil {
		return store.Page{}, err
	}
	return page, nil
}

// queryFor reads only what has no end of life where the filter allows it: whoever looks for what is stuck does
// not read through the answers.
func (s *Store) queryFor(filter store.Filter) text {
	other := func(s machine.State) bool { return s != machine.Executing && s != machine.Abandoned }
	if len(filter.States) == 0 || slices.ContainsFunc(filter.States, other) {
		return s.sql.list
	}
	return s.sql.listUnfinished
}

// addAnswers reads the answers of a page's records.
func (s *Store) addAnswers(ctx context.Context, c *conn, page *store.Page) error {
	if len(page.Records) == 0 {
		return nil
	}
	keys := make([]machine.Digest, len(page.Records))
	for i, r := range page.Records {
		keys[i] = r.Scope.Digest
	}
	answers := map[machine.Digest][]byte{}
	err := c.query(ctx, s.sql.answers.with(digests(keys)), nil, func(_ int, columns []driver.Value) error {
		digest, err := readDigest(columns[0])
		answers[digest] = readBytes(columns[1])
		return err
	})
	if err != nil {
		return err
	}
	records := page.Records
	page.Records = nil
	for _, r := range records {
		if answer := answers[r.Scope.Digest]; answer != nil {
			if r.Response, err = form.UnpackAnswer(answer); err != nil {
				page.Unreadable = append(page.Unreadable, r.Scope.Digest)
				continue
			}
		}
		page.Records = append(page.Records, r)
	}
	return nil
}

// inSnapshot reads in a transaction that sees one state of the database, which is younger than the time.
func (s *Store) inSnapshot(ctx context.Context, work func(c *conn, at machine.Instant) error) error {
	return unsent(ctx, s.errand(ctx, func(c *conn) error {
		var at int64
		if err := c.readOne(ctx, s.sql.before.with(), &at); err != nil {
			return err
		}
		defer s.letGo(ctx, c) // it has changed nothing
		if _, err := c.exec(ctx, s.sql.snapshot.with()); err != nil {
			return err
		}
		return work(c, machine.Instant(at))
	}))
}

// scanned is a row that was looked at, without its answer. Its record is nil if it cannot be read.
type scanned struct {
	digest machine.Digest
	record *machine.Record
}

// scan looks at rows in the order of their digests, in chunks.
type scan struct {
	conn  *conn
	sql   text
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

func (s *scan) chunk(ctx context.Context, limit int) (chunk []scanned, err error) {
	err = s.conn.query(ctx, s.sql.with(s.after, limit), nil, func(_ int, columns []driver.Value) error {
		digest, err := readDigest(columns[0])
		if err != nil {
			return err
		}
		row, err := readRow(columns[1:])
		if err != nil {
			return err
		}
		record, err := form.Unpack(digest, row)
		if err != nil {
			record = nil // it is listed as unreadable
		}
		chunk = append(chunk, scanned{digest, record})
		return nil
	})
	return chunk, err
}
