package sqlitestore

import (
	"context"
	"database/sql"
	"os/exec"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/killtest"
	"github.com/reprise-dev/reprise/machine"
)

// A process that places orders is killed again and again. There is one order for each key that was tried, and
// nothing is half done.
func TestKilledEffectsAreDoneOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := killedShop{newShop(t)}
	s.store = open(t, s.path, Options{}) // with the clock of the processes
	killtest.Run(t, s)
	if err := integrity(s.store); err != nil {
		t.Error(err)
	}
}

type killedShop struct{ *shop }

func (s killedShop) Process() *exec.Cmd { return child(s.TB, "orders", s.path) }

func (s killedShop) Order(key string) error { return orderUnder(s.Context(), s.store, s.db, key) }

func (s killedShop) Orders(key string) (n int) {
	s.count("SELECT count(*) FROM orders WHERE key = ?", []any{key}, &n)
	return n
}

func (s killedShop) Total() (total killtest.Total) {
	s.count(`SELECT count(*), count(DISTINCT key), (SELECT count(*) FROM reprise_record WHERE operation <> 'beside' AND state = 3),
		(SELECT count(*) FROM reprise_record WHERE operation <> 'beside' AND state <> 3) FROM orders`, nil,
		&total.Orders, &total.Keys, &total.Answers, &total.Unfinished)
	return total
}

func (s killedShop) count(query string, args []any, to ...any) {
	s.Helper()
	if err := s.db.QueryRowContext(s.Context(), query, args...).Scan(to...); err != nil {
		s.Fatal(err)
	}
}

// orderUnder places an order under a key that is named by its digest.
func orderUnder(ctx context.Context, s *Store, db *sql.DB, key string) error {
	digest, err := machine.ParseDigest(key)
	if err != nil {
		return err
	}
	begin := newBegin()
	begin.Scope.Digest = digest
	_, err = Effects{Store: s, BusyTimeout: time.Minute, Limit: time.Minute}.Do(ctx, db, invocation(begin), placing(begin))
	return err
}
