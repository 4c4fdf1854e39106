package redisstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// answer makes completed records.
func (d *database) answer(s *Store, n int, text string) []machine.Begin {
	d.Helper()
	begins := make([]machine.Begin, n)
	var group sync.WaitGroup
	for i := range begins {
		begins[i] = newBegin()
		group.Go(func() {
			want(d, s, machine.Acquired, begins[i])
			want(d, s, machine.CompletedNow, completion(begins[i], text))
		})
	}
	group.Wait()
	return begins
}

// pages lists to the end, and returns how often each record was listed and how many pages there were.
func (d *database) pages(limit int, next func(cursor string) (store.Page, error)) (listed map[machine.Digest]int, pages int) {
	d.Helper()
	listed = map[machine.Digest]int{}
	for cursor := ""; ; {
		page, err := next(cursor)
		if err != nil || !page.Partial || page.ScannedAt != page.At || len(page.Records) > limit {
			d.Fatalf("page %d: %+v, %v", pages, page, err)
		}
		pages++
		for _, r := range page.Records {
			listed[r.Scope.Digest]++
		}
		if cursor = page.Next; cursor == "" {
			return listed, pages
		}
	}
}

func (d *database) onceEach(listed map[machine.Digest]int, begins []machine.Begin) {
	d.Helper()
	for _, b := range begins {
		if n := listed[b.Scope.Digest]; n != 1 {
			d.Errorf("%v was listed %d times", b.Scope.Digest, n)
		}
	}
	if len(listed) != len(begins) {
		d.Errorf("%d records were listed, there are %d", len(listed), len(begins))
	}
}

// A page looks at a bounded number of places and can be empty; the listing goes on after it.
func TestListingIsBounded(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begins := d.answer(s, 50, "answer")
	listed, pages := d.pages(10, func(cursor string) (store.Page, error) {
		l := &listing{store: s, limit: 10}
		if err := l.scanned(t.Context(), cursor, 40); err != nil {
			return store.Page{}, err
		}
		return l.page, l.fill(t.Context())
	})
	d.onceEach(listed, begins)
	if least := 1024 / (2 * 40); pages < least {
		t.Errorf("%d pages over more than 1024 keys, want at least %d", pages, least)
	}
}

// A page that is larger than a few answers of the largest size is cut short.
func TestPagesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	answer := strings.Repeat("x", 2<<20)
	begins := d.answer(s, 20, answer)
	listed, pages := d.pages(1000, func(cursor string) (store.Page, error) {
		page, err := s.List(t.Context(), store.Filter{}, cursor, 1000)
		for _, r := range page.Records {
			if string(r.Response.Data) != answer {
				t.Error("an answer is not all there")
			}
		}
		if most := pageBytes / len(answer); len(page.Records) > most {
			t.Errorf("%d records on a page, want at most %d", len(page.Records), most)
		}
		return page, err
	})
	d.onceEach(listed, begins)
	if pages < 3 {
		t.Errorf("%d pages for 40 MiB", pages)
	}
}

// Whatever is in one place of a server's table is listed once, also if it does not fit on one page.
func TestPagesThatAreSmallerThanAPlace(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begins := d.answer(s, 20, "answer")
	sc, err := s.newScan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.glance(t.Context(), digestsOf(begins), machine.Completed)
	if err != nil {
		t.Fatal(err)
	}
	var listed []machine.Digest
	for len(listed) < len(all) {
		l := &listing{store: s, limit: 3}
		left := slices.DeleteFunc(slices.Clone(all), func(g glance) bool { return slices.Contains(sc.passed, g.digest) })
		l.takeSome(&sc, left)
		again := scan{store: s, nodes: sc.nodes}
		if err := again.resume(sc.String()); err != nil || again.String() != sc.String() {
			t.Fatalf("a cursor there and back: %q, %q, %v", sc.String(), again.String(), err)
		}
		sc = again
		for _, g := range l.chosen {
			listed = append(listed, g.digest)
		}
		if len(l.chosen) == 0 || len(l.chosen) > 3 {
			t.Fatalf("%d on a page of 3", len(l.chosen))
		}
	}
	if fmt.Sprint(listed) != fmt.Sprint(digestsOf(begins)) {
		t.Errorf("listed %v, want %v", listed, digestsOf(begins))
	}
	digests, _, err := sc.peek(t.Context(), 100_000)
	if err != nil || len(digests) != 0 {
		t.Errorf("what was passed is met again: %v, %v", digests, err)
	}
}

func digestsOf(begins []machine.Begin) (digests []machine.Digest) {
	for _, b := range begins {
		digests = append(digests, b.Scope.Digest)
	}
	return digests
}

// A cursor of a server that was restarted is refused: the keys are in another order in it.
func TestCursorsEndWithTheirServer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{})
	d := databaseOn(t, server.DSN(1))
	s := d.open()
	d.answer(s, 10, "answer")
	page, err := s.List(t.Context(), store.Filter{}, "", 5)
	if err != nil || page.Next == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	server.Restart()
	eventually(t, func() error {
		if _, err := s.List(t.Context(), store.Filter{}, "", 5); !errors.Is(err, store.ErrLost) {
			return fmt.Errorf("a server that is not accepted is listed: %w", err)
		}
		return nil
	})
	if _, err := AcceptLoss(t.Context(), d.dsn, "me", "it was restarted", d.options); err != nil {
		t.Fatal(err)
	}
	after := d.open()
	if _, err := after.List(t.Context(), store.Filter{}, page.Next, 5); err == nil || !strings.Contains(err.Error(), "from the beginning") {
		t.Errorf("a cursor of a server that was restarted: %v", err)
	}
	if page, err := after.List(t.Context(), store.Filter{}, "", 100); err != nil || len(page.Records) != 10 {
		t.Errorf("%d records, %v", len(page.Records), err)
	}
}

// Cursors of one listing are none of the other, and what is no cursor is refused.
func TestWrongCursors(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	sc, err := s.newScan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	scanned, indexed := sc.String(), place{}.String()
	for cursor, filters := range map[string][]store.Filter{
		scanned: {abandonedOnly}, indexed: {{}}, "x": {{}, abandonedOnly}, "scan": {{}}, "scan-0-0-0": {{}}, scanned + "-x": {{}}, scanned + "x": {{}},
		strings.Replace(scanned, "-0-0", "-1-0", 1): {{}}, strings.Replace(scanned, "-0-0", "--1-0", 1): {{}},
		"abandoned-true-x-" + machine.Digest{}.String(): {abandonedOnly}, indexed + "x": {abandonedOnly},
	} {
		for _, filter := range filters {
			if page, err := s.List(t.Context(), filter, cursor, 5); err == nil {
				t.Errorf("%q with %v is a cursor: %+v", cursor, filter.States, page)
			}
		}
	}
}

// What cannot be read is listed as that, whatever is asked for, and never as a record.
func TestUnreadableRecordsAreListed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	begins := d.answer(s, 3, strings.Repeat("x", 2*glanceSize))
	cut, newer, fine := begins[0], begins[1], begins[2]
	name := d.record(cut.Scope.Digest)
	text, err := d.do("GETRANGE", name, "0", "99").ToString()
	if err != nil {
		t.Fatal(err)
	}
	d.do("SET", name, text, "KEEPTTL")
	d.do("SETRANGE", d.record(newer.Scope.Digest), "0", string(rune(2<<formShift)))
	for _, b := range []machine.Begin{cut, newer} {
		d.do("ZADD", d.names.abandoned(bucketOf(b.Scope.Digest)), "0", string(b.Scope.Digest[:]))
	}
	for name, listed := range map[string]struct {
		filter     store.Filter
		records    int
		unreadable int
	}{
		"all":       {store.Filter{}, 1, 2},
		"completed": {store.Filter{States: []machine.State{machine.Completed}}, 1, 2},
		"executing": {store.Filter{States: []machine.State{machine.Executing}}, 0, 1}, // of the other one it can be told that it is completed
		"abandoned": {abandonedOnly, 0, 2},
	} {
		page, err := s.List(t.Context(), listed.filter, "", 100)
		if err != nil || len(page.Records) != listed.records || len(page.Unreadable) != listed.unreadable {
			t.Errorf("%s: %d records, %v unreadable, %v; want %d and %d", name, len(page.Records), page.Unreadable, err, listed.records, listed.unreadable)
		}
		if listed.records == 1 && page.Records[0].Scope.Digest != fine.Scope.Digest {
			t.Errorf("%s: listed %v", name, page.Records[0].Scope.Digest)
		}
	}
	if counts, err := s.Count(t.Context()); err != nil || counts.States[machine.Completed] != 1 {
		t.Errorf("%+v, %v", counts, err)
	}
	if n, err := s.Purge(t.Context(), 10); n != 0 || err != nil {
		t.Errorf("purged %d, %v", n, err)
	}
}

// While a bucket has lost its data, nobody is told that there is nothing.
func TestLostBucketsAreNotListed(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	d.answer(s, 3, "answer")
	d.do("DEL", d.names.generation(77))
	for _, filter := range []store.Filter{{}, abandonedOnly} {
		if page, err := s.List(t.Context(), filter, "", 10); !errors.Is(err, store.ErrLost) || len(page.Records) > 0 {
			t.Errorf("listed %+v, %v", page, err)
		}
	}
	if counts, err := s.Count(t.Context()); !errors.Is(err, store.ErrLost) {
		t.Errorf("counted %+v, %v", counts, err)
	}
	if n, err := s.Purge(t.Context(), 10); n != 0 || !errors.Is(err, store.ErrLost) {
		t.Errorf("purged %d, %v", n, err)
	}
}

// A listing that is under way when the store is closed ends.
func TestClosedStoresListNothing(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, err := Open(t.Context(), d.dsn, d.options)
	if err != nil {
		t.Fatal(err)
	}
	d.crowd()
	begun, ended := make(chan struct{}), make(chan error)
	go func() {
		close(begun)
		var err error
		for err == nil {
			_, err = s.Purge(t.Context(), 1)
		}
		ended <- err
	}()
	<-begun
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("a purge when the store was closed: %v", err)
	}
	if _, err := s.List(t.Context(), store.Filter{}, "", 10); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("list: %v", err)
	}
	if _, err := s.Count(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("count: %v", err)
	}
	_, stop := s.Watch(machine.Scope{}, 1)
	stop()
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}
