package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/faultstore"
)

func decision(key string, revision uint64) admin.Decision {
	return admin.Decision{
		Digest: digest(key), Revision: revision, Completed: true, Response: machine.NewResponse("http/1", []byte("201")),
		Who: "ops", Why: "the bank has it", Evidence: "statement 12",
	}
}

func TestSettleCompleted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	revision := s.abandon(s.hold("op", "lost", 1))
	service := admin.New(s, admin.Options{})
	settled, err := service.Settle(t.Context(), decision("lost", revision))
	if err != nil || settled.State != "completed" || settled.Revision != revision+1 {
		t.Fatalf("settled %+v, error %v", settled, err)
	}
	record, err := service.Show(t.Context(), digest("lost"))
	if err != nil {
		t.Fatal(err)
	}
	if got := record.WindowEnd.Sub(settled.At); got != 24*time.Hour {
		t.Errorf("replays for %v", got)
	}
	if got := record.RememberUntil.Sub(settled.At); got != 7*24*time.Hour {
		t.Errorf("remembered for %v", got)
	}
	want := admin.Settlement{Who: "ops", Why: "the bank has it", Evidence: "statement 12", At: settled.At}
	if record.Settlement == nil || *record.Settlement != want || record.Answer.Evidence {
		t.Errorf("settlement %+v, answer %+v", record.Settlement, record.Answer)
	}
}

// A key that was settled as not having happened can be tried again, and is told from a new one.
func TestSettleRetryable(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	d := decision("lost", s.abandon(s.hold("op", "lost", 1)))
	d.Completed, d.Response = false, machine.Response{}
	if settled, err := admin.New(s, admin.Options{}).Settle(t.Context(), d); err != nil || settled.State != "retryable" {
		t.Fatalf("settled %+v, error %v", settled, err)
	}
	if again := s.hold("op", "lost", 1); again.Attempt != 2 {
		t.Errorf("attempt %d", again.Attempt)
	}
}

func TestSettleRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	revision := s.abandon(s.hold("op", "lost", 1))
	busy := s.hold("op", "busy", 1)
	for _, c := range []struct {
		name   string
		change func(*admin.Decision)
		want   error
		says   string
	}{
		{"nobody decides", func(d *admin.Decision) { d.Who = "" }, admin.ErrInvalid, "who decides"},
		{"no reason", func(d *admin.Decision) { d.Why = "" }, admin.ErrInvalid, "why"},
		{"no revision", func(d *admin.Decision) { d.Revision = 0 }, admin.ErrInvalid, "look at the record first"},
		{"no answer", func(d *admin.Decision) { d.Response = machine.Response{} }, admin.ErrInvalid, "codec"},
		{"unknown digest", func(d *admin.Decision) { d.Digest = digest("nobody") }, admin.ErrNotFound, ""},
		{"other revision", func(d *admin.Decision) { d.Revision++ }, admin.ErrStale, "at 2 now, abandoned (attempt 1), last changed by fail"},
		{"still running", func(d *admin.Decision) { d.Digest, d.Revision = busy.Scope.Digest, busy.Revision }, admin.ErrWrongState, "somebody holds it until 2026-03-01T12:00:30Z"},
	} {
		d := decision("lost", revision)
		c.change(&d)
		_, err := admin.New(s, admin.Options{}).Settle(t.Context(), d)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if record, err := admin.New(s, admin.Options{}).Show(t.Context(), digest("lost")); err != nil || record.Revision != revision || record.Settlement != nil {
		t.Errorf("a refused decision changed the record: %+v, error %v", record, err)
	}
}

// A decision on what another operator decided meanwhile shows who did.
func TestSettleStale(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	service := admin.New(s, admin.Options{})
	d := decision("lost", s.abandon(s.hold("op", "lost", 1)))
	if _, err := service.Settle(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	d.Who = "somebody else"
	_, err := service.Settle(t.Context(), d)
	var conflict *admin.ConflictError
	if !errors.As(err, &conflict) || !errors.Is(err, admin.ErrStale) || conflict.Now.State != "completed" || conflict.Now.Settlement.Who != "ops" {
		t.Errorf("error %v", err)
	}
	if errors.Is(err, store.ErrIndeterminate) || !strings.Contains(err.Error(), "settled by ops") {
		t.Errorf("error %v", err)
	}
}

// A reply that is lost, before or after the decision took effect, does not leave the operator in doubt.
func TestSettleReplyLost(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultstore.Fault{
		"not sent": faultstore.Unsent(), "reply lost": faultstore.ReplyLost(), "delivered twice": faultstore.Twice(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t)
				revision := s.abandon(s.hold("op", "lost", 1))
				faulty := faultstore.New(s, faultstore.First(machine.KindSettle, fault))
				settled, err := admin.New(faulty, admin.Options{}).Settle(t.Context(), decision("lost", revision))
				if err != nil || settled.State != "completed" || settled.Revision != revision+1 {
					t.Errorf("settled %+v, error %v", settled, err)
				}
			})
		})
	}
}

// What the operator is told when the store does not come back: unavailable when nothing was sent, and
// otherwise that the decision may stand.
func TestSettleStoreGone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		plan  faultstore.Plan
		want  error
		sends int
	}{
		{"refused", faultstore.From(1, faultstore.Refused()), store.ErrUnavailable, 1},
		{"never answers", faultstore.From(1, faultstore.Unsent()), store.ErrIndeterminate, 5},
		{"applied, then gone", faultstore.Both(faultstore.Nth(1, faultstore.ReplyLost()), faultstore.From(2, faultstore.Refused())), store.ErrIndeterminate, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newShop(t)
				revision := s.abandon(s.hold("op", "lost", 1))
				faulty := faultstore.New(s, c.plan)
				_, err := admin.New(faulty, admin.Options{}).Settle(t.Context(), decision("lost", revision))
				if !errors.Is(store.Classify(err), c.want) || faulty.Commands() != c.sends {
					t.Errorf("error %v after %d sends", err, faulty.Commands())
				}
			})
		})
	}
}

// The decision is applied, its reply is lost, and before it is sent again the key has gone on: the
// operator is told that it may stand.
func TestSettleReplyLostAndOvertaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		d := decision("lost", s.abandon(s.hold("op", "lost", 1)))
		d.Completed, d.Response = false, machine.Response{}
		plan := func(n int, command machine.Command) faultstore.Fault {
			if n == 1 {
				return faultstore.ReplyLost()
			}
			if n == 2 {
				s.hold("op", "lost", 1)
			}
			return faultstore.Fault{}
		}
		_, err := admin.New(faultstore.New(s, plan), admin.Options{}).Settle(t.Context(), d)
		if !errors.Is(err, admin.ErrStale) || !errors.Is(err, store.ErrIndeterminate) {
			t.Errorf("error %v", err)
		}
	})
}

// A context that ends while the reply is missing ends the wait, and says that the decision may stand.
func TestSettleContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		revision := s.abandon(s.hold("op", "lost", 1))
		never := make(chan struct{})
		faulty := faultstore.New(s, faultstore.First(machine.KindSettle, faultstore.AnsweredAfter(never)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := admin.New(faulty, admin.Options{}).Settle(ctx, decision("lost", revision)); !errors.Is(err, store.ErrIndeterminate) {
			t.Errorf("error %v", err)
		}
		close(never)
	})
}
