package redisstore

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

const lapse = time.Minute + 7*24*time.Hour // a claim of newBegin counts as absent after it

// claims makes records that are claimed and never started.
func (d *database) claims(s *Store, n int) []machine.Begin {
	d.Helper()
	begins := make([]machine.Begin, n)
	var group sync.WaitGroup
	for i := range begins {
		begins[i] = newBegin()
		group.Go(func() { want(d, s, machine.Acquired, begins[i].Claim) })
	}
	group.Wait()
	return begins
}

func (d *database) exists(b machine.Begin) bool {
	d.Helper()
	return d.record(b.Scope.Digest) != ""
}

// renounce makes all records void, as an accepted loss does to those of lost buckets.
func (d *database) renounce() {
	d.Helper()
	for b := range Buckets {
		d.do("DEL", d.names.generation(b))
	}
	if _, err := AcceptLoss(d.Context(), d.dsn, "me", "a test", d.options); err != nil {
		d.Fatal(err)
	}
}

// A purge removes claims that were given up and records of another generation, also unfinished ones, which count
// as absent. It leaves what lives, and what is unfinished.
func TestPurge(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	before := d.open()
	void := append(d.answer(before, 5, "answer"), newBegin(), newBegin())
	want(t, before, machine.Acquired, void[5])
	want(t, before, machine.Acquired, void[6])
	want(t, before, machine.Failed, unknownFailure(void[6]))
	d.renounce()

	s := d.open()
	purge := func(due []machine.Begin) {
		total := 0
		for n := 4; n == 4; total += n {
			var err error
			if n, err = s.Purge(t.Context(), 4); err != nil || n > 4 {
				t.Fatalf("purged %d, %v", n, err)
			}
		}
		if total != len(due) {
			t.Errorf("purged %d, %d were due", total, len(due))
		}
		for _, b := range due {
			if d.exists(b) {
				t.Error("a record that was due is still there")
			}
		}
	}
	purge(void)
	given := d.claims(s, 3)
	d.advance(lapse)
	living, executing, abandoned := d.claims(s, 1)[0], newBegin(), newBegin()
	want(t, s, machine.Acquired, executing)
	want(t, s, machine.Acquired, abandoned)
	want(t, s, machine.Failed, unknownFailure(abandoned))
	kept := append(d.answer(s, 3, "answer"), living, executing, abandoned)

	page, err := s.List(t.Context(), abandonedOnly, "", 100)
	if err != nil || len(page.Records) != 1 {
		t.Errorf("abandoned: %d, %v; want 1", len(page.Records), err)
	}
	counts, err := s.Count(t.Context())
	if err != nil || counts.Due != 3 || counts.States[machine.Completed] != 3 || counts.States[machine.Executing] != 1 || counts.States[machine.Abandoned] != 1 || counts.Sampled {
		t.Errorf("%+v, %v", counts, err)
	}
	purge(given)
	for _, b := range kept {
		if !d.exists(b) {
			t.Error("a record that was not due is gone")
		}
	}
}

// A purge in many parts goes on where the one before stopped: it does not look at everything each time.
func TestPurgesGoOn(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(1))
	s := d.open()
	d.crowd()
	const parts, each = 20, 10
	d.claims(s, parts*each)
	d.advance(lapse)
	server.Do("CONFIG", "RESETSTAT")
	for range parts {
		if n, err := s.Purge(t.Context(), each); n != each || err != nil {
			t.Fatalf("purged %d, %v", n, err)
		}
	}
	if n, err := s.Purge(t.Context(), each); n != 0 || err != nil {
		t.Fatalf("purged %d once nothing was due, %v", n, err)
	}
	places := int64(1 << 14) // for eleven thousand keys
	if scans, most := calls(t, server)["scan"], parts+3*places/scanStep; scans > most {
		t.Errorf("%d steps for %d parts, want at most %d", scans, parts, most)
	}
}

// A purge deletes what it has read, and nothing that was claimed meanwhile.
func TestPurgeAndClaimsAtOnce(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, other := d.open(), d.open()
	given := d.claims(s, 300)
	d.advance(lapse)
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := other.Purge(t.Context(), len(given)); err != nil {
			t.Error(err)
		}
	})
	again := make([]machine.Begin, len(given))
	for i := range given {
		again[i] = anotherCaller(given[i])
		group.Go(func() { want(t, s, machine.Acquired, again[i]) })
	}
	group.Wait()
	for _, b := range again {
		want(t, s, machine.CompletedNow, completion(b, "answer"))
	}
	read, err := s.glance(t.Context(), digestsOf(given), machine.Completed)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range read {
		if !g.there {
			t.Error("a claim that was granted is gone")
		}
	}
}

// What a purge has read is deleted only if it is still that.
func TestPurgeComparesTheRecord(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	given := d.claims(s, 1)[0]
	d.advance(lapse)
	read, err := s.glance(t.Context(), digestsOf([]machine.Begin{given}), machine.Claimed)
	if err != nil || read[0].state() != machine.Absent {
		t.Fatalf("%+v, %v", read, err)
	}
	next := anotherCaller(given)
	want(t, s, machine.Acquired, next)
	if done, err := s.swap(t.Context(), read[0].target, read[0].found, nil); done || err != nil {
		t.Errorf("deleted: %v, %v", done, err)
	}
	want(t, s, machine.CompletedNow, completion(next, "answer"))
}

// calls returns how often each command was executed, by scripts too.
func calls(t *testing.T, server *servicetest.RedisServer) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	text, ok := server.Do("INFO", "commandstats").(string)
	if !ok {
		t.Fatal(errors.New("no statistics"))
	}
	for line := range strings.Lines(text) {
		name, rest, found := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		if !found {
			continue
		}
		n, _, _ := strings.Cut(rest, ",")
		counts[name] = number(t, n)
	}
	return counts
}
