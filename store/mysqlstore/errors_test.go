package mysqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

func said(number uint16) error { return &mysql.MySQLError{Number: number, Message: "no"} }

func TestErrorsOfWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"deadlock":              {said(deadlock), store.ErrUnavailable},
		"lock wait timeout":     {said(lockTimeout), store.ErrUnavailable},
		"no wait":               {said(lockNoWait), store.ErrUnavailable},
		"unique violation":      {said(duplicateKey), store.ErrUnavailable},
		"read-only":             {said(1290), store.ErrUnavailable},
		"disk full":             {said(1114), store.ErrUnavailable},
		"too many connections":  {said(1040), store.ErrUnavailable},
		"wrong password":        {said(1045), store.ErrUnavailable},
		"no such table":         {said(noTable), store.ErrUnavailable},
		"too large":             {mysql.ErrPktTooLarge, store.ErrUnavailable},
		"nothing was written":   {driver.ErrBadConn, store.ErrUnavailable},
		"nobody let it in":      {fmt.Errorf("%w: %w", errNotSent, io.EOF), store.ErrUnavailable},
		"moved":                 {errMoved, store.ErrUnavailable},
		"shutdown":              {said(1053), store.ErrIndeterminate},
		"interrupted":           {said(1317), store.ErrIndeterminate},
		"killed, by MariaDB":    {said(1927), store.ErrIndeterminate},
		"killed, by MySQL":      {said(3169), store.ErrIndeterminate},
		"error during commit":   {said(1180), store.ErrIndeterminate},
		"reset":                 {mysql.ErrInvalidConn, store.ErrIndeterminate},
		"time-out":              {context.DeadlineExceeded, store.ErrIndeterminate},
		"joined with what came": {errors.Join(said(deadlock), io.EOF), store.ErrUnavailable},
	} {
		if got := store.Classify(sent(tc.err)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if got := store.Classify(unsent(t.Context(), tc.err)); got != store.ErrUnavailable {
			t.Errorf("%s, before anything was sent: %v", name, got)
		}
	}
}

// In somebody else's transaction an error says whether running it again helps.
func TestErrorsOfJoinedTransactions(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint16]bool{deadlock: true, lockTimeout: true, snapshotTooOld: true, noTable: false, 1114: false} {
		if err := conflict(said(number)); errors.Is(err, store.ErrSerialization) != want {
			t.Errorf("%d: %v", number, err)
		}
	}
}

// A group that failed because of one of its commands is tried without it; what the whole server says is not.
func TestErrorsOfGroups(t *testing.T) {
	t.Parallel()
	for number, want := range map[uint16]bool{duplicateKey: true, lockTimeout: true, deadlock: true, dataTooLong: true, 1053: false, 1114: false, 1290: false, noTable: false} {
		if got := own(said(number)); got != want {
			t.Errorf("%d: %v", number, got)
		}
	}
}

// What is wrong with the way to the server shows when the store is opened, with what to do.
func TestOpeningWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true})
	dsn := server.Database(t)
	encrypted := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, TLS: true}).Database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(u *url.URL)) string {
		other := *u
		change(&other)
		return other.String()
	}
	password, _ := u.User.Password()
	for name, tc := range map[string]struct {
		dsn  string
		kind error
		says string
	}{
		"no schema":         {dsn, store.ErrSchema, "reprise migrate up"},
		"wrong password":    {changed(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") }), store.ErrUnavailable, "check user, password"},
		"no database":       {changed(func(u *url.URL) { u.Path = "/nowhere" }), store.ErrUnavailable, "give the user its rights"},
		"nobody listens":    {changed(func(u *url.URL) { u.Host = "127.0.0.1:1" }), store.ErrUnavailable, "check that the server runs"},
		"no TLS there":      {with(t, dsn, "tls", "true"), store.ErrUnavailable, "the server has no TLS"},
		"TLS is wanted":     {with(t, without(t, encrypted, "ca"), "tls", "false"), store.ErrUnavailable, "tls=true"},
		"another authority": {without(t, encrypted, "ca"), store.ErrUnavailable, "name its authority with ca"},
	} {
		s, err := Open(t.Context(), tc.dsn, Options{})
		if err == nil {
			t.Errorf("%s: opened", name)
			s.Close()
			continue
		}
		if tc.kind != nil && !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
		if strings.Contains(err.Error(), password) {
			t.Errorf("%s: tells the password: %v", name, err)
		}
	}
}

// Because a full table scan locks what it passes, and one that is held fails it: statements find their rows by an
// index, however small the table is and whatever is known of it.
func TestAHeldKeyIsNotMetOnTheWay(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	tx := d.hold(newBegin().Scope.Digest)
	defer tx.Rollback()
	for range 3 {
		begins := answer(t, s, 20)
		for _, b := range begins {
			want(t, s, machine.Replay, anotherCaller(b))
		}
		claim := newBegin()
		want(t, s, machine.Acquired, claim.Claim)
		hold := completion(claim, nil).Hold
		hold.Nonce = machine.Nonce{}
		want(t, s, machine.Released, machine.Release{Hold: hold})
		d.advance(8 * 24 * 3600e9)
		if n, err := s.Purge(t.Context(), 100); err != nil || n != len(begins) {
			t.Errorf("purged %d: %v", n, err)
		}
	}
}

// Digests that have their first half in common do not get each other's answers, in one group or in several.
func TestKeysThatBeginAlike(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{})
	first := newBegin()
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			begin := newBegin()
			copy(begin.Scope.Digest[:16], first.Scope.Digest[:])
			want(t, s, machine.Acquired, begin)
			want(t, s, machine.CompletedNow, completion(begin, []byte(fmt.Sprint(i))))
			if reply := want(t, s, machine.Replay, anotherCaller(begin)); string(reply.Response.Data) != fmt.Sprint(i) {
				t.Errorf("the answer is %s, want %d", reply.Response.Data, i)
			}
		})
	}
	group.Wait()
}

// A record that cannot be read is told as such, for ever, and holds up nothing else.
func TestADamagedRecord(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	open, wrongAnswer := newBegin(), newBegin()
	for _, begin := range []machine.Begin{open, wrongAnswer} {
		want(t, s, machine.Acquired, begin)
	}
	want(t, s, machine.CompletedNow, completion(wrongAnswer, []byte("answer")))
	d.exec("UPDATE reprise_record SET record = 'x' WHERE digest = ?", open.Scope.Digest[:])
	d.exec("UPDATE reprise_record SET answer = 'x' WHERE digest = ?", wrongAnswer.Scope.Digest[:])
	other := d.open(Options{}) // remembers nothing
	for name, begin := range map[string]machine.Begin{"open": open, "with a damaged answer": wrongAnswer} {
		for _, command := range []machine.Command{
			anotherCaller(begin), completion(begin, nil), machine.Renew{Hold: completion(begin, nil).Hold, Lease: begin.Lease},
			machine.Inspect{Scope: begin.Scope}, machine.Forget{Scope: begin.Scope},
		} {
			if _, err := other.Apply(t.Context(), command); !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s: %v: %v", name, command.Kind(), err)
			}
		}
	}
	want(t, other, machine.Acquired, newBegin())
	page, err := other.List(t.Context(), store.Filter{}, "", 10)
	if err != nil || len(page.Unreadable) != 2 || len(page.Records) != 1 {
		t.Errorf("listed %d, unreadable %d: %v", len(page.Records), len(page.Unreadable), err)
	}
}
