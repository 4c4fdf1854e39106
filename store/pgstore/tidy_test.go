package pgstore

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
)

// vacuums returns how often the table of what is not answered was vacuumed on demand.
func (d *database) vacuums(conn *pgx.Conn) (n int) {
	d.Helper()
	err := conn.QueryRow(d.Context(), "SELECT vacuum_count FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'reprise_open'", d.schema).Scan(&n)
	if err != nil {
		d.Fatal(err)
	}
	return n
}

// Because autovacuum comes once a minute, and commands find their way through what is dead until then.
func TestTheStoreTidiesUp(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	conn := d.connect()
	s.tidyAt.Store(10)
	answer(t, s, 5)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for d.vacuums(conn) == 0 {
		if ctx.Err() != nil {
			t.Fatal("the table was not vacuumed")
		}
	}
	for s.tidyAt.Load() == 10 && ctx.Err() == nil {
		answer(t, s, 1)
	}
	if at := s.tidyAt.Load(); at < tidyAfter {
		t.Errorf("it will be vacuumed again after %d commands", at)
	}
}

// A role that may not vacuum the table leaves it to autovacuum, and goes on as before.
func TestAServiceThatMayNotTidyUp(t *testing.T) {
	t.Parallel()
	d := newServiceDatabases(t)(t)
	service := &database{TB: t, dsn: d.service, schema: d.schema}
	s := service.open(Options{})
	for _, d := range []struct {
		*database
		may bool
	}{{d, true}, {service, false}} {
		may, pages, err := s.tidy(t.Context(), d.connect())
		if err != nil || may != d.may || pages > 1 {
			t.Errorf("may %v, want %v, and the table has %d pages: %v", may, d.may, pages, err)
		}
	}
	s.tidyAt.Store(1)
	for range 3 {
		begin := newBegin()
		want(t, s, machine.Acquired, begin)
		want(t, s, machine.CompletedNow, completion(begin, nil))
	}
	if n := d.vacuums(d.connect()); n != 1 { // the owner's
		t.Errorf("vacuumed %d times", n)
	}
}
