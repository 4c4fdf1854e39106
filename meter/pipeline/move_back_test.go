package pipeline

import (
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// A line that comes back into no family, where it was before a month began, can be used in that month: its grant is confirmed, and nobody else
// opens it there.
func TestLineComesBackInAnotherMonth(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	p := newPlantOn(t, server.DSN(0), servicetest.Postgres(t).Database(t), 8)
	defer p.work()()
	p.use("line-1")
	p.must(p.mover().Move(t.Context(), "line-1", "family-0"))
	for _, month := range p.horizon.Months(p.calendar, time.Now()) { // as if its unit had been left before
		server.Do("HDEL", p.meter.KeysOf(meterredis.Members{Lines: []string{"line-1"}}).Unit(), "opened:"+month.String())
	}
	p.use("line-1")
	p.must(p.mover().Move(t.Context(), "line-1", ""))
	p.use("line-1")
	p.audit()
}

// A line moves when its own rows are folded: those of others, of which there may be a day's, are left to the daily fold.
func TestMoveFoldsOneLine(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 8)
		defer p.work()()
		events := p.use("line-0", "line-1", "line-2", "line-0", "line-3")
		p.must(p.mover().Move(t.Context(), "line-0", "family-1"))
		for id, row := range p.rows(events) {
			if folded := row.Fold > 0; folded != (id.Line == "line-0") {
				t.Errorf("%+v is folded: %t", id, folded)
			}
		}
		p.audit()
	})
}
