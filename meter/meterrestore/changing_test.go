package meterrestore

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/restore"
)

// A grant that is made while a session verifies, between two looks at SQL, is a row that Redis is not to have yet: it is read again, and nothing is said to
// differ. What does differ is said all the same.
func TestGrantBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	eachLedger(t, "mariadb", func(t *testing.T, dsn string) {
		if strings.HasPrefix(dsn, "postgres") {
			t.Skip("what a transaction reads there is what was when it began to wait")
		}
		p := newPlant(t, dsn, 8)
		plan := p.plan()
		fence := restore.Fence{Session: 1, Epoch: 1, Generation: string(p.meter.Generation())}
		p.must(plan.CloseGate(t.Context(), fence))
		p.must(plan.WriteFence(t.Context(), fence))
		look := func() <-chan []restore.Finding {
			found := make(chan []restore.Finding, 1)
			go func() {
				_, findings, err := plan.Verify(t.Context(), restore.Target{To: otherGlobals, Units: 6}, fence)
				p.must(err)
				found <- findings
			}()
			return found
		}
		granted := func(id string) []restore.Finding {
			t.Helper()
			release := p.heldRows()
			found := look()
			p.await("waits for rows", "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'Waiting for table%'")
			_, err := p.ledger.AddGrant(t.Context(), meter.Grant{ID: id, Kind: meter.TopUp, Line: "line-1", Month: meter.Calendar{}.Month(time.Now()), Individual: 7})
			p.must(err)
			release()
			return <-found
		}
		if found := granted("first"); len(found) > 0 {
			t.Errorf("found %+v", found)
		}
		p.conn().do("HSET", p.conn().do("KEYS", "remaining_indiv_amount:*:line-3:*").([]any)[0].(string), "amount", "3")
		if found := granted("second"); len(found) != 1 || !strings.Contains(found[0].Item, "line-3") {
			t.Errorf("found %+v", found)
		}
	})
}

// byHand connects to MariaDB beside the ledger.
func (p *plant) byHand() *sql.DB {
	p.t.Helper()
	u, err := url.Parse(p.dsn)
	p.must(err)
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = u.User.Username(), "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	connector, err := mysql.NewConnector(c)
	p.must(err)
	db := sql.OpenDB(connector)
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

// heldRows keeps everybody from reading the done log, until release.
func (p *plant) heldRows() (release func()) {
	p.t.Helper()
	db := p.byHand()
	db.SetMaxOpenConns(1)
	_, err := db.ExecContext(p.t.Context(), "LOCK TABLES meter_done WRITE")
	p.must(err)
	return func() { p.must(db.Close()) } // with which the lock ends
}

// await waits until a query counts something.
func (p *plant) await(what, query string) {
	p.t.Helper()
	db := p.byHand()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		var n int
		p.must(db.QueryRowContext(p.t.Context(), query).Scan(&n))
		if n > 0 {
			return
		}
		select {
		case <-again.C:
		case <-p.t.Context().Done():
			p.t.Fatalf("nobody %s", what)
		}
	}
}
