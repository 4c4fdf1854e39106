package sqlitestore

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// applier is what the benchmarks drive: the store, or the writer that it is compared with.
type applier interface {
	Apply(ctx context.Context, command machine.Command) (machine.Reply, error)
}

// commitEach is what a store without groups would be: the same statements on the same file with the
// same durability, and a transaction for each command.
type commitEach struct {
	mu sync.Mutex
	tx *transaction
}

func newCommitEach(b *testing.B) *commitEach {
	path := filepath.Join(b.TempDir(), "reprise.db")
	if _, err := Migrate(b.Context(), path); err != nil {
		b.Fatal(err)
	}
	c, err := connect(path, time.Second, writerCache)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.close(); err != nil {
			b.Error(err)
		}
	})
	tx, err := newTransaction(c)
	if err != nil {
		b.Fatal(err)
	}
	return &commitEach{tx: tx}
}

func (c *commitEach) Apply(_ context.Context, command machine.Command) (reply machine.Reply, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.tx.begin(); err != nil {
		return reply, err
	}
	if reply, err = c.tx.step(command, time.Now()); err != nil {
		return reply, err
	}
	return reply, c.tx.commit()
}

var answer256 = bytes.Repeat([]byte("answer: "), 32)

// operate begins a fresh key and completes it.
func operate(b *testing.B, s applier) {
	begin := newBegin()
	reply, err := s.Apply(b.Context(), begin)
	if err != nil || reply.Outcome != machine.Acquired {
		b.Error(reply.Outcome, err)
	}
	reply, err = s.Apply(b.Context(), completion(begin, answer256))
	if err != nil || reply.Outcome != machine.CompletedNow {
		b.Error(reply.Outcome, err)
	}
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

// BenchmarkOperation is begin on a fresh key and complete with 256 bytes. The rounds of the store
// alternate with rounds of commitEach, because machines have moods; "ratio" is the median of theirs.
func BenchmarkOperation(b *testing.B) {
	const round = 250 * time.Millisecond
	for _, n := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			each, grouped := newCommitEach(b), newStore(b, Options{})
			var ratios, rates []float64
			slow, fast := 200, 200*n
			for b.Loop() {
				before := callers(n, slow, func() { operate(b, each) })
				after := callers(n, fast, func() { operate(b, grouped) })
				slow, fast = int(before*round.Seconds())+1, int(after*round.Seconds())+1
				ratios, rates = append(ratios, after/before), append(rates, after)
			}
			slices.Sort(ratios)
			slices.Sort(rates)
			b.ReportMetric(ratios[len(ratios)/2], "ratio")
			b.ReportMetric(rates[len(rates)/2], "op/s")
		})
	}
}

// BenchmarkReplay is begin on a completed key, alone and while others write.
func BenchmarkReplay(b *testing.B) {
	for _, writers := range []int{0, 32} {
		b.Run(fmt.Sprintf("callers=64/writers=%d", writers), func(b *testing.B) {
			s := newStore(b, Options{})
			begins := make(chan machine.Begin, 1000)
			for range cap(begins) {
				begin := newBegin()
				want(b, s, machine.Acquired, begin)
				want(b, s, machine.CompletedNow, completion(begin, answer256))
				begins <- anotherCaller(begin)
			}
			ctx, cancel := context.WithCancel(b.Context())
			var background sync.WaitGroup
			for range writers {
				background.Go(func() {
					for ctx.Err() == nil {
						operate(b, s)
					}
				})
			}
			b.ResetTimer()
			rate := callers(64, b.N, func() {
				begin := <-begins
				reply, err := s.Apply(b.Context(), begin)
				if err != nil || reply.Outcome != machine.Replay {
					b.Error(reply.Outcome, err)
				}
				begins <- begin
			})
			b.ReportMetric(rate, "replay/s")
			b.StopTimer()
			cancel()
			background.Wait()
		})
	}
}

var _ store.Store = (*Store)(nil)
