package pgstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

var answer256 = bytes.Repeat([]byte("answer: "), 32)

// bench is a fully durable server with a store, and a table as somebody would write it by hand.
type bench struct {
	*database
	store *Store
	bare  *pgxpool.Pool
}

const bareTable = `CREATE TABLE bare (id bigserial, digest bytea NOT NULL, state int NOT NULL, fingerprint bytea NOT NULL, answer bytea);
CREATE UNIQUE INDEX ON bare (digest);
CREATE TABLE orders (id bigserial PRIMARY KEY, what text NOT NULL)`

const (
	bareInsert = "INSERT INTO bare (digest, state, fingerprint) VALUES ($1, 1, $2) ON CONFLICT DO NOTHING"
	bareUpdate = "UPDATE bare SET state = 2, answer = $2 WHERE digest = $1 AND state = 1"
)

// newBench makes one. Bare statements get as many connections as serve them best here.
func newBench(b *testing.B, callers int) *bench {
	server := servicetest.NewPostgres(b, servicetest.PostgresOptions{})
	d := &database{TB: b, dsn: server.Database(b), schema: DefaultSchema}
	if _, err := Migrate(b.Context(), d.dsn); err != nil {
		b.Fatal(err)
	}
	d.exec(bareTable)
	config, err := pgxpool.ParseConfig(d.dsn)
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = int32(min(callers, 32))
	bare, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(bare.Close)
	return &bench{database: d, store: d.open(Options{MaxConns: 16}), bare: bare}
}

// operate begins a fresh key and completes it.
func (b *bench) operate() machine.Begin {
	begin := newBegin()
	reply, err := b.store.Apply(b.Context(), begin)
	if err != nil || reply.Outcome != machine.Acquired {
		b.Error(reply.Outcome, err)
	}
	reply, err = b.store.Apply(b.Context(), completion(begin, answer256))
	if err != nil || reply.Outcome != machine.CompletedNow {
		b.Error(reply.Outcome, err)
	}
	return begin
}

// operateBare does the same with two statements, each a transaction.
func (b *bench) operateBare() machine.Begin {
	begin := newBegin()
	_, err := b.bare.Exec(b.Context(), bareInsert, begin.Scope.Digest[:], begin.Scope.Digest[:])
	if err != nil {
		b.Error(err)
	}
	_, err = b.bare.Exec(b.Context(), bareUpdate, begin.Scope.Digest[:], answer256)
	if err != nil {
		b.Error(err)
	}
	return begin
}

// callers runs work a number of times from a number of goroutines and returns how often a second.
func callers(n, times int, work func()) float64 {
	left := make(chan struct{}, times)
	for range times {
		left <- struct{}{}
	}
	close(left)
	var group sync.WaitGroup
	started := time.Now()
	for range n {
		group.Go(func() {
			for range left {
				work()
			}
		})
	}
	group.Wait()
	return float64(times) / time.Since(started).Seconds()
}

// compare alternates rounds of the one and the other, because machines have moods, and reports the median
// of their ratios.
func compare(b *testing.B, n int, ours, limit func()) {
	const round = 300 * time.Millisecond
	var ratios, rates []float64
	slow, fast := 50*n, 50*n
	for b.Loop() {
		before, after := callers(n, slow, limit), callers(n, fast, ours)
		slow, fast = int(before*round.Seconds())+1, int(after*round.Seconds())+1
		ratios, rates = append(ratios, after/before), append(rates, after)
	}
	slices.Sort(ratios)
	slices.Sort(rates)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(rates[len(rates)/2], "op/s")
}

// BenchmarkOperation is begin on a fresh key and complete with 256 bytes, against two bare statements.
func BenchmarkOperation(b *testing.B) {
	for _, n := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			bench := newBench(b, n)
			compare(b, n, func() { bench.operate() }, func() { bench.operateBare() })
		})
	}
}

// BenchmarkReplay is begin on a completed key, against a bare SELECT by key.
func BenchmarkReplay(b *testing.B) {
	for _, n := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			bench := newBench(b, n)
			begins, digests := make(chan machine.Begin, 1000), make(chan machine.Digest, 1000)
			callers(50, cap(begins), func() {
				begins <- anotherCaller(bench.operate())
				digests <- bench.operateBare().Scope.Digest
			})
			compare(b, n, func() {
				begin := <-begins
				reply, err := bench.store.Apply(b.Context(), begin)
				if err != nil || reply.Outcome != machine.Replay {
					b.Error(reply.Outcome, err)
				}
				begins <- begin
			}, func() {
				digest := <-digests
				var answer []byte
				err := bench.bare.QueryRow(b.Context(), "SELECT answer FROM bare WHERE digest = $1", digest[:]).Scan(&answer)
				if err != nil || len(answer) != len(answer256) {
					b.Error(err)
				}
				digests <- digest
			})
		})
	}
}

// BenchmarkEffect is Do with one business row, against the same written by hand in three round trips, and
// against the business row alone.
func BenchmarkEffect(b *testing.B) {
	for _, n := range []int{1, 64} {
		bench := newBench(b, n)
		effect := func() {
			_, err := Do(b.Context(), bench.bare, invocation(newBegin()), func(ctx context.Context, tx pgx.Tx) (machine.Response, error) {
				_, err := tx.Exec(ctx, bareOrder, "a book")
				return machine.NewResponse("http/1", answer256), err
			})
			if err != nil {
				b.Error(err)
			}
		}
		b.Run(fmt.Sprintf("callers=%d/by-hand", n), func(b *testing.B) {
			compare(b, n, effect, func() { bench.byHand() })
		})
		b.Run(fmt.Sprintf("callers=%d/row-alone", n), func(b *testing.B) {
			compare(b, n, effect, func() {
				if _, err := bench.bare.Exec(b.Context(), bareOrder, "a book"); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

const bareOrder = "INSERT INTO orders (what) VALUES ($1)"

// byHand is what Do does, as somebody would write it who knows how to save round trips.
func (b *bench) byHand() {
	conn, err := b.bare.Acquire(b.Context())
	if err != nil {
		b.Error(err)
		return
	}
	defer conn.Release()
	digest := newBegin().Scope.Digest
	first, last := &pgx.Batch{}, &pgx.Batch{}
	first.Queue("BEGIN")
	first.Queue(bareInsert, digest[:], digest[:])
	last.Queue(bareUpdate, digest[:], answer256)
	last.Queue("COMMIT")
	err = conn.SendBatch(b.Context(), first).Close()
	if err == nil {
		_, err = conn.Exec(b.Context(), bareOrder, "a book")
	}
	if err == nil {
		err = conn.SendBatch(b.Context(), last).Close()
	}
	if err != nil {
		b.Error(err)
	}
}

// BenchmarkPurge is operations at 64 callers while expired records are purged, against the same without.
func BenchmarkPurge(b *testing.B) {
	bench := newBench(b, 64)
	bench.exec("INSERT INTO reprise.reprise_answered SELECT gen_random_uuid(), gen_random_uuid(), 1, i, 'x', 'x' FROM generate_series(1, 1000000) i")
	const round = 3 * time.Second
	var ratios []float64
	purged := 0
	for b.Loop() {
		before := bench.during(round, func(ctx context.Context) { <-ctx.Done() })
		after := bench.during(round, func(ctx context.Context) {
			for ctx.Err() == nil {
				n, _ := bench.store.Purge(ctx, 10_000)
				purged += n
			}
		})
		ratios = append(ratios, after/before)
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
	b.ReportMetric(float64(purged)/(float64(len(ratios))*round.Seconds()), "purged/s")
}

// during returns how many operations a second 64 callers do while something else goes on.
func (b *bench) during(d time.Duration, meanwhile func(ctx context.Context)) float64 {
	ctx, cancel := context.WithTimeout(b.Context(), d)
	defer cancel()
	var group sync.WaitGroup
	var done atomic.Int64
	for range 64 {
		group.Go(func() {
			for ctx.Err() == nil {
				b.operate()
				done.Add(1)
			}
		})
	}
	meanwhile(ctx)
	group.Wait()
	return float64(done.Load()) / d.Seconds()
}

// BenchmarkRecordSize reports the bytes that a completed record takes with its indexes.
func BenchmarkRecordSize(b *testing.B) {
	bench := newBench(b, 1)
	const records = 50_000
	for b.Loop() {
		callers(256, records, func() { bench.operate() })
		var size, n float64
		err := bench.connect().QueryRow(b.Context(), "SELECT pg_total_relation_size('reprise.reprise_answered'), count(*) FROM reprise.reprise_answered").Scan(&size, &n)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(size/n, "bytes/record")
	}
}
