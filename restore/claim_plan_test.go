package restore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/database"
)

// Because a claim that is ordered by what no index is ordered by locks all rows that it reads, and other workers skip
// them: one works, and the others wait.
func TestClaimIsServedByItsIndex(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]func(testing.TB) server{
		"PostgreSQL": postgres,
		"MariaDB":    mariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, s(t))
			p := newToy("toy", 8000, 4)
			sessions := w.sessions()
			r := New(sessions, p, options("one"))
			r.options.ListAtOnce = 1000
			v := w.plannedBy(r)
			w.sql(w.analyze + " @restore_targets")
			plan, err := sessions.db.Explain(t.Context(), sessions.sql.claimTargets, v.ID, 0, 4)
			w.must(err)
			t.Log(plan)
			if !strings.Contains(plan, "restore_targets_claim") {
				t.Error("the claim is not served by its index")
			}
			for _, bad := range []string{"Sort", "Seq Scan", "filesort", "temporary"} {
				if strings.Contains(plan, bad) {
					t.Errorf("the claim has a step %q", bad)
				}
			}
			w.lockedRows(sessions, v)
		})
	}
}

// lockedRows wants a claim that is not committed to keep others from the targets that it takes, and from no more.
func (w *world) lockedRows(s *Sessions, v Session) {
	w.Helper()
	seen := map[string]bool{}
	var nested func(ctx context.Context, depth int) error
	nested = func(ctx context.Context, depth int) error {
		return s.db.Change(ctx, func(tx *database.Tx) error {
			var c claimed
			if err := tx.Each(s.sql.claimTargets, []any{v.ID, 0, 4}, []any{&c.id, &c.From, &c.To, &c.Units, &c.Priority, &c.attempts}, func() error {
				if seen[c.From] {
					return fmt.Errorf("%s is taken by two", c.From)
				}
				seen[c.From] = true
				return nil
			}); err != nil || depth == 0 {
				return err
			}
			return nested(ctx, depth-1)
		})
	}
	w.must(nested(w.Context(), 3))
	for i := range 16 {
		if from := fmt.Sprintf("u%05d", i*4); !seen[from] {
			w.Errorf("four open claims of four targets left out the one from %s: %d were taken", from, len(seen))
		}
	}
}
