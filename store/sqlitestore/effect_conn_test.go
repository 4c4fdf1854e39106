package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A pool on which a commit would not be what it is in a store is refused, with what to do about it, in a
// transaction of Do and in one that is joined.
func TestPoolsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pool func(s *shop) *sql.DB
		says string
		is   error // beside ErrUnavailable
	}{
		"synchronous is normal": {func(s *shop) *sql.DB {
			return s.keep(sql.Open("sqlite", "file:"+s.path+"?_pragma=synchronous(NORMAL)"))
		}, "PRAGMA synchronous = FULL", nil},
		"synchronous is off": {func(s *shop) *sql.DB {
			return s.keep(sql.Open("sqlite", "file:"+s.path+"?_pragma=synchronous(OFF)"))
		}, "PRAGMA synchronous = FULL", nil},
		"read-only": {func(s *shop) *sql.DB { return s.pool("_pragma=query_only(1)") }, "read-only", nil},
		"a rollback journal": {func(s *shop) *sql.DB {
			return s.other(func(path string) error { return editSchema(t, path, "PRAGMA journal_mode = DELETE") })
		}, "WAL", nil},
		"in memory": {func(s *shop) *sql.DB { return s.keep(sql.Open("sqlite", ":memory:")) }, "there is no store in", fs.ErrNotExist},
		"another program's file": {func(s *shop) *sql.DB {
			return s.other(func(path string) error {
				return errors.Join(os.Remove(path), editSchema(t, path, "PRAGMA journal_mode = WAL"), editSchema(t, path, "CREATE TABLE orders (key TEXT)"))
			})
		}, "there is no store in", fs.ErrNotExist},
		"an older schema": {func(s *shop) *sql.DB {
			return s.other(func(path string) error { return editSchema(t, path, "UPDATE reprise_schema SET version_id = 0") })
		}, "without a store", fs.ErrNotExist},
		"a newer schema": {func(s *shop) *sql.DB {
			return s.other(func(path string) error {
				return editSchema(t, path, "UPDATE reprise_schema SET version_id = version_id + 2")
			})
		}, "upgrade this program", store.ErrSchema},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			pool, begin := c.pool(s), newBegin()
			_, err := Do(t.Context(), pool, invocation(begin), placing(begin))
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("Do: %v", err)
			}
			tx, err := pool.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback()
			_, err = JoinSQL(t.Context(), tx, invocation(begin), joining(tx, begin))
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("JoinSQL: %v", err)
			}
		})
	}
}

// other is a pool of another file, in which there is a store at first.
func (s *shop) other(change func(path string) error) *sql.DB {
	s.Helper()
	path := filepath.Join(s.TempDir(), "other.db")
	if _, err := Migrate(s.Context(), path); err != nil {
		s.Fatal(err)
	}
	if err := change(path); err != nil {
		s.Fatal(err)
	}
	return s.keep(sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(FULL)"))
}

// The pool of another store is refused by the one that is named.
func TestAPoolOfAnotherStore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for name, pool := range map[string]*sql.DB{
		"another file": s.other(func(string) error { return nil }),
		"no file":      s.keep(sql.Open("sqlite", ":memory:")),
	} {
		begin := newBegin()
		_, err := s.effects().Do(t.Context(), pool, invocation(begin), placing(begin))
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "give the pool of the store's file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Another name for the same file is none.
	alias := filepath.Join(t.TempDir(), "alias.db")
	if err := os.Symlink(s.path, alias); err != nil {
		t.Fatal(err)
	}
	begin := newBegin()
	if _, err := s.effects().Do(t.Context(), s.keep(sql.Open("sqlite", "file:"+alias+"?_pragma=synchronous(FULL)")), invocation(begin), placing(begin)); err != nil {
		t.Error(err)
	}
}

// A store that is closed, or whose file is gone, has no effects any more.
func TestEffectsOfAStoreThatIsGone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	if _, err := s.order(newBegin()); err != nil {
		t.Fatal(err)
	}
	gone := newShop(t)
	begin := newBegin()
	_, err := gone.effects().Do(t.Context(), gone.db, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		if err := os.Rename(gone.path, gone.path+".moved"); err != nil {
			t.Error(err)
		}
		return placing(begin)(ctx, tx)
	})
	if !errors.Is(err, store.ErrLost) {
		t.Errorf("the file was moved away: %v", err)
	}
	if err := s.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.order(newBegin()); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errClosed) {
		t.Errorf("the store is closed: %v", err)
	}
}

func TestAnInvocationWithoutAKey(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	if _, err := Do(t.Context(), s.db, &store.Invocation{}, placing(newBegin())); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, errNoCandidate) {
		t.Errorf("%v", err)
	}
}

// A damaged record is told as such, and its key is not run.
func TestAnEffectOnADamagedRecord(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	begin := newBegin()
	if _, err := s.order(begin); err != nil {
		t.Fatal(err)
	}
	s.exec("UPDATE reprise_record SET record = substr(record, 1, 20)")
	if _, err := s.order(anotherCaller(begin)); !errors.Is(err, store.ErrCorrupt) || s.orders(begin) != 1 {
		t.Errorf("%v, %d orders", err, s.orders(begin))
	}
}
