package mysqlstore

import (
	"context"
	"database/sql"
	"os/exec"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// Because only sequential duplicates may be caught elsewhere (case O28): a burst from two processes.
func TestOneOfTwoProcessesGetsTheKey(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	digest := newBegin().Scope.Digest
	outcomes := killtest.Together(t, child(t, "burst", d.dsn, digest), child(t, "burst", d.dsn, digest))
	if outcomes["acquired"] != 1 || outcomes["in-progress"] != 199 || len(outcomes) != 2 {
		t.Fatalf("outcomes of 200 begins on one key: %v", outcomes)
	}
}

// Because two processes that prepare an empty database at once fail elsewhere.
func TestManyProcessesMigrateAnEmptyDatabase(t *testing.T) {
	t.Parallel()
	dsn := servicetest.MariaDB(t).Database(t)
	children := make([]*exec.Cmd, 4)
	for i := range children {
		children[i] = child(t, "migrate", dsn, machine.Digest{1})
	}
	if said := killtest.Together(t, children...); said["version 1"] != len(children) || len(said) != 1 {
		t.Fatalf("four processes prepared an empty database: %v", said)
	}
}

// A process that places orders is killed again and again. There is one order for each key that was tried, and
// nothing is half done.
func TestKilledEffectsAreDoneOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	killtest.Run(t, killedShop{newShop(t)})
}

type killedShop struct{ *shop }

func (s killedShop) Process() *exec.Cmd { return child(s.TB, "orders", s.dsn, machine.Digest{1}) }

func (s killedShop) Order(key string) error { return orderUnder(s.Context(), s.pool, key) }

func (s killedShop) Orders(key string) (n int) {
	s.Helper()
	if err := s.pool.QueryRowContext(s.Context(), "SELECT count(*) FROM orders WHERE name = ?", key).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

func (s killedShop) Total() (total killtest.Total) {
	s.Helper()
	err := s.pool.QueryRowContext(s.Context(), "SELECT count(*), count(DISTINCT name), (SELECT count(*) FROM reprise_record WHERE answer IS NOT NULL), (SELECT count(*) FROM reprise_record WHERE answer IS NULL) FROM orders").
		Scan(&total.Orders, &total.Keys, &total.Answers, &total.Unfinished)
	if err != nil {
		s.Fatal(err)
	}
	return total
}

// orderUnder places an order under a key that is named by its digest. Whoever was killed holds its key until
// the server has noticed.
func orderUnder(ctx context.Context, pool *sql.DB, key string) error {
	digest, err := machine.ParseDigest(key)
	if err != nil {
		return err
	}
	begin := newBegin()
	begin.Scope.Digest = digest
	_, err = Effects{Wait: time.Minute}.Do(ctx, pool, invocation(begin), func(ctx context.Context, tx *sql.Tx) (machine.Response, error) {
		return placeOrder(ctx, tx, digest)
	})
	return err
}
