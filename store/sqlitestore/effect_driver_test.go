package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// plainDriver is a driver on top of ours that has no more than database/sql asks for: no contexts, no
// sessions.
type plainDriver struct {
	name    string
	library string                          // that it says it is; empty: ours
	commit  func(commit func() error) error // nil: as it is
}

func (d plainDriver) Driver() driver.Driver { return nil }

func (d plainDriver) Connect(context.Context) (driver.Conn, error) {
	conn, err := new(sqlite.Driver).Open(d.name)
	return plainConn{conn, d}, err
}

type plainConn struct {
	conn driver.Conn
	d    plainDriver
}

func (c plainConn) Close() error { return c.conn.Close() }

func (c plainConn) Prepare(query string) (driver.Stmt, error) {
	if c.d.library != "" {
		query = strings.ReplaceAll(query, "sqlite_source_id()", "'"+c.d.library+"'")
	}
	stmt, err := c.conn.Prepare(query)
	return plainStmt{stmt}, err
}

func (c plainConn) Begin() (driver.Tx, error) {
	tx, err := c.conn.Begin() //nolint:staticcheck // a driver of the old kind is what is played here
	return plainTx{tx, c.d}, err
}

type plainTx struct {
	driver.Tx
	d plainDriver
}

func (t plainTx) Commit() error {
	if t.d.commit != nil {
		return t.d.commit(t.Tx.Commit)
	}
	return t.Tx.Commit()
}

type plainStmt struct{ stmt driver.Stmt }

func (s plainStmt) Close() error  { return s.stmt.Close() }
func (s plainStmt) NumInput() int { return s.stmt.NumInput() }

func (s plainStmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.stmt.Exec(args) //nolint:staticcheck // a driver of the old kind is what is played here
}

func (s plainStmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.stmt.Query(args) //nolint:staticcheck // as above
}

// plainPool opens the file with such a driver.
func (s *shop) plainPool(d plainDriver) *sql.DB {
	d.name = "file:" + filepath.ToSlash(s.path) + "?_pragma=synchronous(FULL)&_pragma=busy_timeout(10)"
	return s.keep(sql.OpenDB(d), nil)
}

// Because two SQLite libraries in one process do not lock each other out: of two rows that both committed,
// one was lost.
func TestAnotherLibraryIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	db := s.plainPool(plainDriver{library: "another"})
	for name, effects := range map[string]Effects{"with the store": s.effects(), "without the store": {}} {
		begin := newBegin()
		_, err := effects.Do(t.Context(), db, invocation(begin), placing(begin))
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "Open the pool with modernc.org/sqlite") {
			t.Errorf("%s: Do: %v", name, err)
		}
		tx := s.begin(db)
		_, err = effects.JoinSQL(t.Context(), tx, invocation(begin), joining(tx, begin))
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "Open the pool with modernc.org/sqlite") {
			t.Errorf("%s: JoinSQL: %v", name, err)
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	conn, err := s.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if !ours(conn) {
		t.Error("our own driver is not recognised: every effect asks")
	}
}

// Effects need nothing of a driver but database/sql.
func TestEffectsWithAnotherDriver(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.db = s.plainPool(plainDriver{})
	begin := newBegin()
	if effect, err := s.order(begin); err != nil || effect.Replayed {
		t.Fatalf("%+v, %v", effect, err)
	}
	if effect, err := s.order(anotherCaller(begin)); err != nil || !effect.Replayed || s.orders(begin) != 1 {
		t.Errorf("%+v, %v", effect, err)
	}
	held := newBegin()
	release := s.hold(held)
	effects := s.effects()
	effects.BusyTimeout = time.Millisecond
	if _, err := effects.Do(t.Context(), s.db, invocation(newBegin()), nil); !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "wait longer") {
		t.Errorf("while the lock is held: %v", err)
	}
	told := make(chan error)
	go func() {
		effect, err := s.order(anotherCaller(held))
		if err == nil && !effect.Replayed {
			err = fmt.Errorf("%+v", effect)
		}
		told <- err
	}()
	waitFor(t, func() bool { return s.db.Stats().InUse == 2 })
	if err := release(); err != nil {
		t.Error(err)
	}
	if err := <-told; err != nil {
		t.Errorf("who waited: %v", err)
	}

	s.db.SetMaxOpenConns(1) // what is looked up afterwards needs one too
	hung := newBegin()
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.effects().Do(ctx, s.db, invocation(hung), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		response, err := placing(hung)(ctx, tx)
		cancel()
		return response, err
	})
	if !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("a caller hung up: %v", err)
	}
	s.free(hung)
}

// A commit of which nobody knows is looked up: a reconciled success equals a direct one (case O31).
func TestACommitOfAnEffectInDoubt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sync := errors.New("disk I/O error")
	for name, c := range map[string]struct {
		commit func(commit func() error) error
		want   error
	}{
		"it happened":                   {func(commit func() error) error { return errors.Join(commit(), sync) }, nil},
		"it did not, and may come back": {func(func() error) error { return sync }, store.ErrIndeterminate},
		"there was no room for it":      {func(func() error) error { return s.full() }, store.ErrUnavailable},
	} {
		begin := newBegin()
		db := s.plainPool(plainDriver{commit: c.commit})
		db.SetMaxOpenConns(1)
		effect, err := s.effects().Do(t.Context(), db, invocation(begin), placing(begin))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, effect, err)
		}
		if c.want != nil {
			if err := db.Close(); err != nil { // rolls back what this driver has left open
				t.Error(err)
			}
			s.free(begin)
			continue
		}
		record := want(t, s.store, machine.Found, machine.Inspect{Scope: begin.Scope})
		if effect.Replayed || record.Finished != effect.Reply.Finished || record.Revision != effect.Reply.Revision || record.RememberUntil != effect.Reply.RememberUntil {
			t.Errorf("%s: recorded %+v, told %+v", name, record, effect)
		}
	}
}

// full returns the error of a full disk.
func (s *shop) full() error {
	s.Helper()
	path := filepath.Join(s.TempDir(), "full.db")
	db := s.keep(sql.Open("sqlite", "file:"+path+"?_pragma=max_page_count(1)"))
	_, err := db.ExecContext(s.Context(), "CREATE TABLE t (x)")
	return err
}

// Where there is no room for the effect, there is none of it.
func TestAnEffectOnAFullDisk(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.db.SetMaxOpenConns(1)
	s.exec("PRAGMA max_page_count = 1") // no less than there are
	big := strings.Repeat("x", 1<<20)
	begin := newBegin()
	_, err := s.effects().Do(t.Context(), s.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders (key) VALUES (?)", big)
		return machine.NewResponse("http/1", nil), err
	})
	if err == nil || errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("the action's row had no room: %v", err)
	}
	_, err = s.effects().Do(t.Context(), s.db, invocation(begin), func(context.Context, *sql.Tx) (machine.Response, error) {
		return machine.NewResponse("http/1", []byte(big)), nil
	})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "free disk space") {
		t.Errorf("the answer had no room: %v", err)
	}
	s.exec("PRAGMA max_page_count = 1000000")
	s.free(begin)
}
