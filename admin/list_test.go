package admin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// A store with a record of each kind: paid is completed an hour ago, lost is abandoned, gone was
// interrupted, busy is being worked on.
func busyShop(t *testing.T) *shop {
	t.Helper()
	s := newShop(t)
	s.hold("POST /orders", "gone", 1)
	s.complete(s.hold("POST /orders", "paid", 1))
	s.advance(50 * time.Minute)
	s.abandon(s.hold("POST /refunds", "lost", 1))
	s.advance(10 * time.Second)
	s.hold("POST /orders", "busy", 1)
	return s
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	service := admin.New(busyShop(t), admin.Options{})
	for _, c := range []struct {
		name  string
		query admin.Query
		want  []string
	}{
		{"all", admin.Query{}, []string{"busy", "gone", "lost", "paid"}},
		{"what is unknown", admin.Query{States: []machine.State{machine.Abandoned}}, []string{"gone", "lost"}},
		{"operation", admin.Query{Operation: "POST /orders"}, []string{"busy", "gone", "paid"}},
		{"age", admin.Query{OlderThan: 5 * time.Second}, []string{"gone", "lost", "paid"}},
		{"age is more than, not at least", admin.Query{OlderThan: 10 * time.Second}, []string{"gone", "paid"}},
		{"all of them", admin.Query{States: []machine.State{machine.Abandoned}, Operation: "POST /orders", OlderThan: time.Minute}, []string{"gone"}},
	} {
		page, err := service.List(t.Context(), c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(page.Records); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func names(records []admin.Record) []string {
	var all []string
	for _, r := range records {
		for _, name := range []string{"busy", "gone", "lost", "paid"} {
			if r.Digest == digest(name).String() {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestListPages(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 25 {
		s.hold("op", fmt.Sprint("key ", i), 1)
	}
	service, seen, query := admin.New(s, admin.Options{}), map[string]bool{}, admin.Query{Limit: 10}
	for pages := 1; ; pages++ {
		page, err := service.List(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if seen[r.Digest] {
				t.Errorf("%s twice", r.Digest)
			}
			seen[r.Digest] = true
		}
		if query.Cursor = page.Next; query.Cursor == "" {
			if pages != 3 || len(seen) != 25 {
				t.Errorf("%d pages with %d records", pages, len(seen))
			}
			return
		}
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	s := busyShop(t)
	service := admin.New(s, admin.Options{})
	lost, err := service.Show(t.Context(), digest("lost"))
	if err != nil || lost.State != "abandoned" || lost.Reason != "the service hung up" || lost.LastChange != "fail" ||
		lost.Attempt != 1 || lost.Revision != 2 || !lost.Answer.Evidence || lost.Answer.Bytes != 3 || !lost.RememberUntil.IsZero() {
		t.Errorf("lost: %+v, answer %+v, error %v", lost, lost.Answer, err)
	}
	gone, err := service.Show(t.Context(), digest("gone"))
	if err != nil || gone.State != "abandoned" || gone.Reason != machine.ReasonInterrupted || gone.Answer != nil {
		t.Errorf("gone: %+v, error %v", gone, err)
	}
	if _, err := service.Show(t.Context(), digest("nobody")); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("nobody: %v", err)
	}
	if _, err := service.Show(t.Context(), machine.Digest{}); !errors.Is(err, admin.ErrInvalid) {
		t.Errorf("no digest: %v", err)
	}
}

// A listing and a look at the same instant agree about the state, at every moment of a record's life
// (case O43).
func TestListAndShowAgree(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.complete(s.hold("op", "paid", 1))
	s.hold("op", "busy", 1)
	service := admin.New(s, admin.Options{})
	states := map[string]bool{}
	for range 15 {
		page, err := service.List(t.Context(), admin.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			shown, err := service.Show(t.Context(), must(machine.ParseDigest(r.Digest)))
			if err != nil || shown.State != r.State {
				t.Fatalf("listed as %s, shown as %s, error %v", r.State, shown.State, err)
			}
			states[r.State] = true
		}
		s.advance(10 * time.Minute)
	}
	for _, state := range []string{"executing", "completed", "expired", "abandoned"} {
		if !states[state] {
			t.Errorf("no record was %s: the test looks at too little", state)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Answers are shown only to those who ask for them, and owners never.
func TestSecrecy(t *testing.T) {
	t.Parallel()
	s := busyShop(t)
	service := admin.New(s, admin.Options{})
	page, err := service.List(t.Context(), admin.Query{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(page)
	owner := machine.Token(digest("owner paid"))
	for _, hidden := range []string{"secret answer", "c2VjcmV0IGFuc3dlcg", owner.Digest().String()} {
		if strings.Contains(string(text), hidden) {
			t.Errorf("the listing tells %s", hidden)
		}
	}
	answer, err := service.Response(t.Context(), digest("paid"))
	if err != nil || string(answer.Data) != "secret answer" {
		t.Errorf("answer %q, error %v", answer.Data, err)
	}
	if _, err := service.Response(t.Context(), digest("busy")); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("answer of an operation that has none: %v", err)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	service := admin.New(busyShop(t), admin.Options{Batch: 1})
	whole := digest("lost").String()
	for _, text := range []string{whole, whole[:8], strings.ToUpper(whole[:20])} {
		if got, err := service.Find(t.Context(), text); err != nil || got != digest("lost") {
			t.Errorf("%s: %v, error %v", text, got, err)
		}
	}
	other := digest("nobody").String()
	if got, err := service.Find(t.Context(), other); err != nil || got.String() != other {
		t.Errorf("a whole digest needs no record: %v", err)
	}
	if _, err := service.Find(t.Context(), other[:10]); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("a beginning that none has: %v", err)
	}
	for _, text := range []string{"", whole[:7], "order-12", whole + "0"} {
		if _, err := service.Find(t.Context(), text); !errors.Is(err, admin.ErrInvalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFindAmbiguous(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, last := range []byte{1, 2} {
		h := s.hold("op", fmt.Sprint(last), 1)
		h.Scope.Digest = machine.Digest{0xab, 0xcd, 0xef, 1, 31: last}
		s.apply(machine.Begin{Claim: machine.Claim{
			Scope: h.Scope, Owner: h.Owner, Operation: h.Operation, Lease: lease, Fingerprints: []machine.Fingerprint{{Version: 1}},
		}, Nonce: h.Nonce}, machine.Acquired)
	}
	service := admin.New(s, admin.Options{})
	if _, err := service.Find(t.Context(), "abcdef01"); !errors.Is(err, admin.ErrInvalid) || !strings.Contains(err.Error(), "more than one") {
		t.Errorf("error %v", err)
	}
}

// What a store cannot do is said, and by name.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.complete(s.hold("op", "paid", 1))
	service := admin.New(bare{s}, admin.Options{})
	_, list := service.List(t.Context(), admin.Query{})
	_, find := service.Find(t.Context(), "0123456789")
	_, stats := service.Stats(t.Context())
	_, purge := service.Purge(t.Context(), nil)
	for name, err := range map[string]error{"list": list, "find": find, "stats": stats, "purge": purge, "retire": service.RetireSecret(t.Context(), 1)} {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := service.Show(t.Context(), digest("paid")); err != nil {
		t.Errorf("show needs no more than Apply: %v", err)
	}
}
