package pgstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/internal/form"
)

func TestErrorsOfWhatWasSent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"serialization failure":           {&pgconn.PgError{Code: "40001"}, store.ErrUnavailable},
		"deadlock":                        {&pgconn.PgError{Code: "40P01"}, store.ErrUnavailable},
		"unique violation":                {&pgconn.PgError{Code: "23505"}, store.ErrUnavailable},
		"read-only":                       {&pgconn.PgError{Code: "25006"}, store.ErrUnavailable},
		"disk full":                       {&pgconn.PgError{Code: "53100"}, store.ErrUnavailable},
		"too many connections":            {&pgconn.PgError{Code: "53300"}, store.ErrUnavailable},
		"wrong password":                  {&pgconn.PgError{Code: "28P01"}, store.ErrUnavailable},
		"cancelled":                       {&pgconn.PgError{Code: "57014"}, store.ErrUnavailable},
		"starting":                        {&pgconn.PgError{Code: "57P03"}, store.ErrUnavailable},
		"no such table":                   {&pgconn.PgError{Code: "42P01"}, store.ErrUnavailable},
		"admin shutdown":                  {&pgconn.PgError{Code: "57P01"}, store.ErrIndeterminate},
		"of a PgBouncer without a server": {&pgconn.PgError{Code: "08P01"}, store.ErrIndeterminate},
		"connection failure":              {&pgconn.PgError{Code: "08006"}, store.ErrIndeterminate},
		"crash shutdown":                  {&pgconn.PgError{Code: "57P02"}, store.ErrIndeterminate},
		"completion unknown":              {&pgconn.PgError{Code: "40003"}, store.ErrIndeterminate},
		"panic of a disk at commit":       {&pgconn.PgError{Code: "58030", SeverityUnlocalized: "PANIC"}, store.ErrIndeterminate},
		"panic, as the server says it":    {&pgconn.PgError{Code: "53100", Severity: "PANIC"}, store.ErrIndeterminate},
		"reset":                           {io.ErrUnexpectedEOF, store.ErrIndeterminate},
		"time-out":                        {context.DeadlineExceeded, store.ErrIndeterminate},
		"moved":                           {errMoved, store.ErrIndeterminate},
		"wrapped, as pgx does":            {fmt.Errorf("batch: %w", &pgconn.PgError{Code: "40001"}), store.ErrUnavailable},
		"joined with what came after it":  {errors.Join(&pgconn.PgError{Code: "40001"}, io.EOF), store.ErrUnavailable},
	} {
		if got := store.Classify(sent(tc.err)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if got := store.Classify(unsent(t.Context(), tc.err)); got != store.ErrUnavailable {
			t.Errorf("%s, before anything was sent: %v", name, got)
		}
	}
}

// Because a guard that is told "nothing was changed" forgets a claim that was made: a command that was sent
// stays in doubt, whatever the tries to find out are told.
func TestErrorsOfWhatIsInDoubt(t *testing.T) {
	t.Parallel()
	for _, later := range []error{store.Unavailable(errBusy), store.Corrupt(machine.Digest{1}, errMoved), context.DeadlineExceeded} {
		err := (&form.Doubt{Cause: io.ErrUnexpectedEOF}).Or(later)
		if store.Classify(err) != store.ErrIndeterminate || !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), later.Error()) {
			t.Errorf("%v", err)
		}
		if got := (*form.Doubt)(nil).Or(later); got != later {
			t.Errorf("without a doubt: %v", got)
		}
	}
}

// In somebody else's transaction an error says whether running it again helps.
func TestErrorsOfJoinedTransactions(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"40001": true, "40P01": true, "23505": true, "25P02": false, "42P01": false, "53100": false} {
		if err := conflict(&pgconn.PgError{Code: code}); errors.Is(err, store.ErrSerialization) != want {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// A group that failed because of one of its commands, or of its size, is tried one by one.
func TestErrorsOfGroups(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"23505": true, "22P05": true, "53200": true, "40001": true, "57P01": false, "08P01": false, "53100": false, "25006": false, "42P01": false, "": false,
	} {
		if got := own(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("%s: %v", code, got)
		}
	}
}

// What is wrong with the way to the server shows when the store is opened, with what to do.
func TestOpeningWhatCannotBeOpened(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, MaxConnections: 10})
	dsn := server.Database(t)
	encrypted := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, TLS: true}).Database(t)
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(u *url.URL)) string {
		other := *u
		change(&other)
		return other.String()
	}
	for name, tc := range map[string]struct {
		dsn  string
		kind error
		says string
	}{
		"no schema":          {dsn, store.ErrSchema, "reprise migrate up"},
		"wrong password":     {changed(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "wrong") }), store.ErrUnavailable, "check user, password"},
		"no database":        {changed(func(u *url.URL) { u.Path = "/nowhere" }), store.ErrUnavailable, "create the database"},
		"nobody listens":     {changed(func(u *url.URL) { u.Host = "127.0.0.1:1" }), store.ErrUnavailable, "check that the server runs"},
		"no TLS there":       {with(t, dsn, "sslmode", "require"), store.ErrUnavailable, "sslmode"},
		"TLS is wanted":      {with(t, encrypted, "sslmode", "disable"), store.ErrUnavailable, "sslmode"},
		"another authority":  {without(t, encrypted, "sslrootcert"), store.ErrUnavailable, "name its authority with sslrootcert"},
		"another scheme":     {"mysql://root@localhost/db", nil, "postgres://"},
		"no URL":             {"postgres://%zz", nil, "postgres://"},
		"a schema to quote":  {with(t, dsn, "schema", "Re Prise"), nil, "lower-case"},
		"a strange bouncer":  {with(t, dsn, "pgbouncer", "maybe"), nil, "1 or 0"},
		"an unknown setting": {with(t, dsn, "sslmode", "perhaps"), nil, "sslmode"},
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
		if strings.Contains(err.Error(), "wrong") && name != "wrong password" || password(u) != "" && strings.Contains(err.Error(), password(u)) {
			t.Errorf("%s: tells the password: %v", name, err)
		}
	}
}

func password(u *url.URL) string {
	p, _ := u.User.Password()
	return p
}

// A server that goes away and comes back is unavailable meanwhile, and nothing that it said before is lost.
func TestAServerThatIsRestarted(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{})
	d := prepare(t, server.Database(t), DefaultSchema)
	s, err := Open(t.Context(), d.dsn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	server.Kill()
	for _, command := range []machine.Command{completion(begin, nil), newBegin(), machine.Inspect{Scope: begin.Scope}} {
		ctx, cancel := context.WithCancel(t.Context())
		refusal := make(chan error, 1)
		go func() {
			_, err := s.Apply(ctx, command)
			refusal <- err
		}()
		if command.Kind() == machine.KindComplete {
			cancel() // it may have been sent: the store goes on asking, until its caller has enough
		}
		if err := <-refusal; !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrIndeterminate) {
			t.Errorf("%v: %v", command.Kind(), err)
		}
		cancel()
	}
	server.Restart()
	if reply := truth(t, s, completion(begin, []byte("answer")), machine.CompletedNow); reply.Revision != 2 {
		t.Errorf("%+v", reply)
	}
	if reply := want(t, s, machine.Replay, anotherCaller(begin)); string(reply.Response.Data) != "answer" {
		t.Errorf("%+v", reply)
	}
}

// A server that does not answer keeps no caller longer than its context, and no other caller either.
func TestAServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	d := prepare(t, server.Database(t), DefaultSchema)
	proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
	s, err := Open(t.Context(), proxy.Through(d.dsn), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	release := make(chan struct{})
	proxy.SetPlan(faultnet.Nth(1, faultnet.AnsweredAfter(release)))
	struck := proxy.Next(faultnet.Is(faultnet.Struck))
	ctx, cancel := context.WithCancel(t.Context())
	told := make(chan error, 1)
	go func() {
		_, err := s.Apply(ctx, completion(begin, []byte("answer")))
		told <- err
	}()
	<-struck
	cancel()
	if err := <-told; !errors.Is(err, store.ErrIndeterminate) {
		t.Errorf("after it was sent: %v", err)
	}
	close(release)
	reply := truth(t, s, completion(begin, []byte("answer")), machine.CompletedNow, machine.AlreadyCompleted) // both can be true
	if reply.Revision != 2 {
		t.Errorf("%+v", reply)
	}
}

// Who only reads does not notice that the server has ended its session: it asks on another one.
func TestAServerThatEndsSessions(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	want(t, s, machine.CompletedNow, completion(begin, []byte("answer")))
	d.exec("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	want(t, s, machine.Found, machine.Inspect{Scope: begin.Scope})
}

// A standby, or a role that may only read: commands that write are refused, with what to do.
func TestAServerThatIsReadOnly(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	d := prepare(t, server.Database(t), DefaultSchema)
	begin := newBegin()
	want(t, d.open(Options{}), machine.Acquired, begin)
	d.exec("ALTER ROLE CURRENT_USER SET default_transaction_read_only = on")
	s := d.open(Options{})
	want(t, s, machine.InProgress, anotherCaller(begin)) // what is recorded can be read
	for _, command := range []machine.Command{newBegin(), completion(begin, nil)} {
		_, err := s.Apply(t.Context(), command)
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("%v: %v", command.Kind(), err)
		}
	}
}

// Because a connection that was made before a failover leads to a server that reads only for as long as it lives: it is given up, and the
// next one finds the server that writes.
func TestAConnectionToAServerThatReadsOnly(t *testing.T) {
	t.Parallel()
	s := newDatabase(t).open(Options{MaxConns: 4})
	want(t, s, machine.NotFound, machine.Inspect{Scope: newBegin().Scope})
	if _, err := s.pool.Exec(t.Context(), "SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Apply(t.Context(), newBegin()); !errors.Is(err, store.ErrUnavailable) || sqlState(err) != "25006" {
		t.Errorf("a server that reads only: %v", err)
	}
	want(t, s, machine.Acquired, newBegin())
}

// A server without a connection left: unavailable, and what to do.
func TestAServerWithoutConnectionsLeft(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, MaxConnections: 8})
	d := prepare(t, server.Database(t), DefaultSchema)
	for {
		conn, err := pgx.Connect(t.Context(), strings.Split(d.dsn, "?")[0])
		if err != nil {
			break
		}
		defer conn.Close(t.Context())
	}
	_, err := Open(t.Context(), d.dsn, Options{})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "max_connections") {
		t.Errorf("%v", err)
	}
}

// Whatever is set for a role or database, the store's own statements rely on what they need.
func TestSettingsOfTheRoleDoNotMatter(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	d := prepare(t, server.Database(t), DefaultSchema)
	d.exec("ALTER ROLE CURRENT_USER SET default_transaction_isolation = 'serializable'")
	d.exec("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
	d.exec("ALTER ROLE CURRENT_USER SET search_path = nowhere")
	s := d.open(Options{})
	begin := newBegin()
	want(t, s, machine.Acquired, begin)
	want(t, s, machine.CompletedNow, completion(begin, nil))
	want(t, s, machine.Replay, anotherCaller(begin))
	var committing string
	if err := s.pool.QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&committing); err != nil || committing != "on" {
		t.Errorf("synchronous_commit is %q: %v", committing, err)
	}
}

// A record that cannot be read is told as such, for ever, and holds up nothing else.
func TestADamagedRecord(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open(Options{})
	open, answered, wrongAnswer := newBegin(), newBegin(), newBegin()
	for _, begin := range []machine.Begin{open, answered, wrongAnswer} {
		want(t, s, machine.Acquired, begin)
	}
	for _, begin := range []machine.Begin{answered, wrongAnswer} {
		want(t, s, machine.CompletedNow, completion(begin, []byte("answer")))
	}
	d.exec("UPDATE reprise.reprise_open SET record = set_byte(record, 40, 255 - get_byte(record, 40))")
	d.exec("UPDATE reprise.reprise_answered SET record = '\\x00' WHERE head = $1", head(answered.Scope.Digest))
	d.exec("UPDATE reprise.reprise_answered SET answer = set_byte(answer, 12, 0) WHERE head = $1", head(wrongAnswer.Scope.Digest))
	other := d.open(Options{}) // remembers nothing
	for name, begin := range map[string]machine.Begin{"open": open, "answered": answered, "with a damaged answer": wrongAnswer} {
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
	if err != nil || len(page.Unreadable) != 3 || len(page.Records) != 1 {
		t.Errorf("listed %d, unreadable %d: %v", len(page.Records), len(page.Unreadable), err)
	}
}
