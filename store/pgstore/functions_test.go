package pgstore

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// Under another isolation the insertion would not see what was committed before its lock: it is refused, and says what to do.
func TestBeginsNeedReadCommitted(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	conn := d.connect()
	const begin = "SELECT reprise.reprise_begin(gen_random_uuid(), gen_random_uuid(), 1, 'record', NULL, 9223372036854775807, 0)"
	for isolation, refused := range map[string]bool{"READ COMMITTED": false, "REPEATABLE READ": true, "SERIALIZABLE": true} {
		if _, err := conn.Exec(t.Context(), "BEGIN ISOLATION LEVEL "+isolation); err != nil {
			t.Fatal(err)
		}
		var at *int64
		err := conn.QueryRow(t.Context(), begin).Scan(&at)
		if refusal := (*pgconn.PgError)(nil); refused != (errors.As(err, &refusal) && strings.Contains(refusal.Hint, "default_transaction_isolation")) || !refused && at == nil {
			t.Errorf("%s: %v, %v", isolation, at, err)
		}
		if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
	}
}

// Instants come out of doubles to the microsecond.
func TestInstantsAreExact(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	var seen, wrong int
	err := d.connect().QueryRow(t.Context(), `
SELECT count(*), count(*) FILTER (WHERE reprise.reprise_instant(at) <> (extract(epoch FROM at) * 1000000)::bigint)
FROM (SELECT timestamptz '1970-01-01 00:00:00Z' + (random() * 2239488000000000)::bigint * interval '1 microsecond' AS at FROM generate_series(1, 20000)) AS until_2040`).Scan(&seen, &wrong)
	if err != nil || seen != 20000 || wrong != 0 {
		t.Errorf("%d of %d: %v", wrong, seen, err)
	}
}
