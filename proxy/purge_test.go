package proxy

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/store/memstore"
)

// What is past its time is deleted, in batches, and nothing else is.
func TestPurge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New(nil)
		p, err := New(t.Context(), s, guarding(t, &url.URL{Scheme: "http", Host: "upstream.invalid"}), nil)
		if err != nil {
			t.Fatal(err)
		}
		guard, err := reprise.New(s, reprise.Policy{Secrets: testSecrets(t), ReplayWindow: time.Hour, Remember: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		const records = 2*purgeBatch + 1
		for i := range records {
			call := reprise.Call{Operation: "order", Principal: "p", Key: fmt.Sprint(i)}
			if _, err := guard.Do(t.Context(), call, func(context.Context, *reprise.Run) (reprise.Response, error) {
				if i == 0 {
					return reprise.Response{}, context.DeadlineExceeded // unknown: kept for ever
				}
				return reprise.Response{}, nil
			}); (err != nil) != (i == 0) {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { p.Purge(ctx, time.Minute); close(ended) }()
		<-time.After(2 * time.Hour)
		synctest.Wait()
		counts, err := s.Count(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var left int64
		for _, n := range counts.States {
			left += n
		}
		if left != 1 || counts.Due != 0 {
			t.Errorf("%d records are left and %d are due, want the unknown one and none", left, counts.Due)
		}
		cancel()
		<-ended
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := guard.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
