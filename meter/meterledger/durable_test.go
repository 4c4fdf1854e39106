package meterledger_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

// A commit can be read before it is durable. An event of which a process was told that it is in the inbox, or whose row it was told is there, is
// there after the server was killed, also where another process was just writing it.
func TestWhatIsThereAlreadyIsDurable(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{})
	dsn := server.Database(t)
	if _, err := meterledger.Migrate(t.Context(), dsn); err != nil {
		t.Fatal(err)
	}
	told := 0
	for round := range 4 {
		events := putUntilKilled(t, server, dsn, round)
		told += len(events)
		server.Restart()
		l := open(t, dsn)
		there := map[string]bool{}
		for after := int64(0); ; {
			page, err := l.PageInbox(t.Context(), after, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, taken := range page {
				after = taken.Number
				e, err := taken.Event()
				if err != nil {
					t.Fatal(err)
				}
				there[e.ID] = true
			}
			if len(page) == 0 {
				break
			}
		}
		for _, e := range events {
			if !there[e.ID] {
				t.Errorf("%s was in the inbox, and is not after the server was killed", e.ID)
			}
		}
	}
	if told == 0 {
		t.Error("nothing was told")
	}
}

// putUntilKilled has two processes put the same events into the inbox, and kills the server in the middle. It returns the events of which the
// second was told that they are there.
func putUntilKilled(t *testing.T, server *servicetest.MariaDBServer, dsn string, round int) (told []meter.Event) {
	t.Helper()
	first, second := open(t, dsn), open(t, dsn)
	const pairs, many = 8, 200
	var mu sync.Mutex
	var group sync.WaitGroup
	enough := make(chan struct{})
	for pair := range pairs {
		events := make(chan meter.Event)
		group.Go(func() {
			defer close(events)
			for n := 0; ; n++ {
				e := meter.Event{ID: fmt.Sprintf("event-%d-%d-%d", round, pair, n), Line: fmt.Sprint("line-", pair), App: "video", Bytes: 1, At: time.Now().Truncate(time.Microsecond)}
				events <- e
				if first.PutInbox(t.Context(), []meter.Event{e}) != nil {
					return
				}
			}
		})
		group.Go(func() {
			for e := range events {
				if second.PutInbox(t.Context(), []meter.Event{e}) != nil {
					continue
				}
				mu.Lock()
				if told = append(told, e); len(told) == many {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	server.Kill()
	group.Wait()
	return told
}
