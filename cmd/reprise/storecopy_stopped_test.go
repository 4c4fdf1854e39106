package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/movestore"
)

// slowly is a store that lists ten records at a time.
type slowly struct{ store.Store }

func (s slowly) Unwrap() store.Store { return s.Store }

func (s slowly) List(ctx context.Context, filter store.Filter, cursor string, limit int) (store.Page, error) {
	lister, _ := store.As[store.Lister](s.Store)
	return lister.List(ctx, filter, cursor, min(limit, 10))
}

// interrupted copies until the first records are written, and stops in the middle of whatever it does. By then it has
// read fifty records at most.
func (m *moving) interrupted() {
	m.t.Helper()
	from, to := m.opened()
	ctx, cancel := context.WithCancel(m.t.Context())
	_, err := movestore.Copy(ctx, slowly{from}, to, movestore.CopyOptions{Progress: func(movestore.Copied) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		m.t.Errorf("it is not interrupted: %v", err)
	}
	if err := errors.Join(from.Close(), to.Close()); err != nil {
		m.t.Error(err)
	}
}

// answerOf is how the answers of [site.answered] begin.
const answerOf = "the answer of number "

// answered puts answered records into the store, and returns how many it has from then on.
func (s *site) answered(t *testing.T, n int) int {
	t.Helper()
	opened := s.open(t)
	importer, ok := store.As[store.Importer](opened)
	if !ok {
		t.Fatal("the store does not import")
	}
	at := machine.InstantOf(time.Now())
	var records []*machine.Record
	for i := range n {
		records = append(records, &machine.Record{
			Scope: machine.Scope{Operation: "POST /orders", SecretVersion: 1, Digest: sha256.Sum256(fmt.Append(nil, i))}, State: machine.Completed,
			Attempt: 1, Revision: 2, Claimed: at, LeaseEnd: at.Add(time.Minute), Started: at, Finished: at, WindowEnd: at.Add(time.Hour), RememberUntil: at.Add(24 * time.Hour),
			Response: machine.NewResponse("http/1", fmt.Append(nil, answerOf, i)),
		})
	}
	for batch := range slices.Chunk(records, 1000) {
		if _, err := importer.Import(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	return s.records(t)
}

// records counts the records of the store.
func (s *site) records(t *testing.T) (n int) {
	t.Helper()
	opened := s.open(t)
	lister, _ := store.As[store.Lister](opened)
	for cursor := ""; ; {
		page, err := lister.List(t.Context(), store.Filter{}, cursor, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if n, cursor = n+len(page.Records), page.Next; cursor == "" {
			break
		}
	}
	if err := opened.Close(); err != nil {
		t.Error(err)
	}
	return n
}

// held returns a proxy in front of the target, which holds back what records are written by when it has let half of them pass.
func (m *moving) held(records int, release <-chan struct{}) *faultnet.Proxy {
	m.t.Helper()
	framings := map[string]func() faultnet.Framing{"postgres": faultnet.Postgres, "mysql": faultnet.MySQL, "redis": faultnet.Redis}
	u, err := url.Parse(m.to.dsn)
	if err != nil {
		m.t.Fatal(err)
	}
	proxy, passed := faultnet.New(m.t, u.Host, framings[u.Scheme]()), 0
	proxy.SetPlan(func(r faultnet.Request) faultnet.Fault {
		n := bytes.Count(r.Bytes, []byte(answerOf)) + bytes.Count(r.Bytes, fmt.Appendf(nil, "%x", answerOf)) // MariaDB gets them in hexadecimal
		if passed += n; n > 0 && passed > records/2 {
			return faultnet.HeldUntil(release)
		}
		return faultnet.Fault{}
	})
	return proxy
}

// A copy is killed half-way, and what it had sent last arrives when it is gone. It is called again, and writes what is missing.
func TestStoreCopyIsKilled(t *testing.T) {
	t.Parallel()
	onMoves(t, func(m *moving) {
		const records = 5_000
		t := m.t
		m.start(m.from, nil).kill() // it tells a new file its secret
		all := m.from.answered(t, records)
		release := make(chan struct{})
		target := m.held(records, release)
		struck := target.Next(faultnet.Is(faultnet.Struck))
		copier := exec.Command(os.Args[0], "store", "copy")
		copier.Env = programEnv(fromVariable+"="+m.from.dsn, toVariable+"="+target.Through(m.to.dsn))
		var said bytes.Buffer
		copier.Stdout, copier.Stderr = &said, &said
		if err := copier.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = copier.Wait() // it says that it was killed
		}()
		select {
		case <-struck:
		case <-ended:
			t.Fatalf("the copier was not held back: %v, %s", copier.ProcessState, said.String())
		}
		eventually(t, "some records are there", func() bool { return m.to.records(t) > 0 })
		if err := copier.Process.Kill(); err != nil {
			t.Error(err)
		}
		<-ended
		if status, ok := copier.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Errorf("the copier has ended by itself: %v", copier.ProcessState)
		}
		close(release)
		again := m.copy()
		if again.code != exitDone {
			t.Fatalf("%+v", again)
		}
		written, there := numberOf(t, again.out, "written"), numberOf(t, again.out, "already there")
		if written+there != all || written == 0 || there == 0 || m.to.records(t) != all {
			t.Errorf("the second copy wrote %d, and %d were there, of %d:\n%s", written, there, all, again.out)
		}
		m.announce()
		eventually(t, "the copy is complete", func() bool { return m.copy("--verify").code == exitDone })
	})
}

// numberOf returns a number of a table.
func numberOf(t *testing.T, table, name string) (n int) {
	t.Helper()
	for line := range strings.Lines(table) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %q in:\n%s", name, table)
	return 0
}
