package pgstore

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Because a plan that was made while a table was small reads all of it when it is large: connections that
// met empty tables, about which the planner knows that they are, never read one from end to end.
func TestNoTableIsReadFromEndToEnd(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	d.exec("VACUUM ANALYZE reprise.reprise_open, reprise.reprise_answered")
	s, err := Open(t.Context(), d.dsn, Options{MaxConns: 6})
	if err != nil {
		t.Fatal(err)
	}
	const rounds, each = 20, 50
	for range rounds {
		begins := answer(t, s, each)
		for _, b := range begins[:5] {
			want(t, s, machine.Replay, anotherCaller(b))
			want(t, s, machine.Stale, machine.Settle{Scope: b.Scope, Operation: b.Operation, Revision: 9, Remember: time.Hour, Who: "who", Why: "why"})
		}
		open := newBegin()
		want(t, s, machine.Acquired, open)
		want(t, s, machine.Renewed, machine.Renew{Hold: completion(open, nil).Hold, Lease: time.Minute})
		for _, states := range [][]machine.State{nil, {machine.Executing}} {
			if _, err := s.List(t.Context(), store.Filter{States: states}, "", 10); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Count(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Purge(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // a session tells its counts at the latest when it ends
		t.Fatal(err)
	}
	conn := d.connect()
	for inserted := int64(0); inserted < rounds*each; {
		err := conn.QueryRow(t.Context(), "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'reprise_answered'").Scan(&inserted)
		if err != nil {
			t.Fatal(err)
		}
	}
	rows, err := conn.Query(t.Context(), "SELECT relname, seq_tup_read FROM pg_stat_user_tables WHERE relname IN ('reprise_open', 'reprise_answered')")
	if err != nil {
		t.Fatal(err)
	}
	var table string
	var read int64
	if _, err := pgx.ForEachRow(rows, []any{&table, &read}, func() error {
		if read > 0 {
			t.Errorf("%s: %d rows were read without an index", table, read)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
