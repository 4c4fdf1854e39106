package sqlitestore

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkEffect places orders, each under a fresh key. The rounds of Do alternate with rounds of the same
// by hand: an immediate transaction that looks for the key, inserts the order, and inserts key and answer.
// "ratio" is the median of theirs.
func BenchmarkEffect(b *testing.B) {
	const round = 250 * time.Millisecond
	for _, n := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			s := newShop(b)
			s.db.SetMaxIdleConns(n)
			byHand := s.byHand()
			do := func() {
				if _, err := s.order(newBegin()); err != nil {
					b.Error(err)
				}
			}
			var ratios, rates []float64
			slow, fast := 200, 200
			for b.Loop() {
				before := callers(n, slow, byHand)
				after := callers(n, fast, do)
				slow, fast = int(before*round.Seconds())+1, int(after*round.Seconds())+1
				ratios, rates = append(ratios, after/before), append(rates, after)
			}
			slices.Sort(ratios)
			slices.Sort(rates)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(rates[len(rates)/2], "effect/s")
		})
	}
}

// byHand returns what a program writes that has no store.
func (s *shop) byHand() func() {
	s.exec("CREATE TABLE answers (key BLOB PRIMARY KEY, answer BLOB NOT NULL, at INTEGER NOT NULL)")
	db := s.pool("_txlock=immediate", "_pragma=busy_timeout(60000)")
	db.SetMaxIdleConns(64)
	return func() {
		key := newBegin()
		tx, err := db.BeginTx(s.Context(), nil)
		if err != nil {
			s.Error(err)
			return
		}
		defer tx.Rollback()
		digest, known := key.Scope.Digest[:], 0
		if err := tx.QueryRowContext(s.Context(), "SELECT count(*) FROM answers WHERE key = ?", digest).Scan(&known); err != nil || known != 0 {
			s.Error(known, err)
		}
		response, err := placing(key)(s.Context(), tx)
		if err != nil {
			s.Error(err)
		}
		if _, err := tx.ExecContext(s.Context(), "INSERT INTO answers (key, answer, at) VALUES (?, ?, ?)", digest, response.Data, time.Now().UnixMicro()); err != nil {
			s.Error(err)
		}
		if err := tx.Commit(); err != nil {
			s.Error(err)
		}
	}
}
