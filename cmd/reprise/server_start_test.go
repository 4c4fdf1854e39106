package main

import (
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// proxyLine starts a proxy in front of nothing.
var proxyLine = []string{"proxy", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9", "--principal", "none"}

// at returns a copy of a site whose DSN differs.
func (s *site) at(t *testing.T, change func(u *url.URL)) *site {
	other := *s
	other.name(changed(t, s.dsn, change))
	return &other
}

// refused runs a command line on a store that must be refused, with the next step, in words without the
// password.
func (s *site) refused(t *testing.T, want string, args ...string) {
	t.Helper()
	code, out := refusal(t, s.environ, args...)
	if code != exitFailed || !strings.Contains(out, want) || strings.Contains(out, password) {
		t.Errorf("%v: exit code %d, want %q in:\n%s", args, code, want, out)
	}
}

// A server with which nobody gets on is refused by every command, which says what to do.
func TestServersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	plain := newPostgresSite(t)
	encrypted := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, TLS: true})
	tls := newSiteIn(t, encrypted, encrypted.Database(t))
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ask := func(name, value string) func(u *url.URL) {
		return func(u *url.URL) {
			query := u.Query()
			query.Set(name, value)
			u.RawQuery = query.Encode()
		}
	}
	for name, c := range map[string]struct {
		at   *site
		want string
	}{
		"nobody listens":  {plain.at(t, func(u *url.URL) { u.Host = "127.0.0.1:1" }), "check that the server runs"},
		"no answer":       {plain.at(t, func(u *url.URL) { u.Host = silent.Addr().String(); ask("connect_timeout", "1")(u) }), "check that the server runs"},
		"wrong password":  {plain.at(t, func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), password+"!") }), "check user, password"},
		"no database":     {plain.at(t, func(u *url.URL) { u.Path = "/nowhere" }), "create the database, or name another one"},
		"TLS is wanted":   {tls.at(t, ask("sslmode", "disable")), "sslmode"},
		"no TLS there":    {plain.at(t, ask("sslmode", "require")), "sslmode"},
		"other authority": {tls.at(t, func(u *url.URL) { u.RawQuery = "sslmode=verify-full" }), "name its authority with sslrootcert"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, args := range [][]string{proxyLine, {"ops", "list"}, {"migrate", "status"}, {"migrate", "up"}, {"store", "init", "--new"}} {
				c.at.refused(t, c.want, args...)
			}
		})
	}
	tls.startProxy(t, nil, proxyLine[1:]...) // by the right authority it goes
}

// A server that has no connection left says so, and can be used when it has one again.
func TestServerWithoutConnectionsLeft(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, MaxConnections: 12})
	at := newSiteIn(t, server, server.Database(t))
	var taken []*pgx.Conn
	for {
		conn, err := pgx.Connect(t.Context(), at.dsn)
		if err != nil {
			break
		}
		taken = append(taken, conn)
	}
	for _, args := range [][]string{proxyLine, {"ops", "list"}, {"migrate", "status"}} {
		at.refused(t, "the server has no connection left", args...)
	}
	for _, conn := range taken {
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "the server has connections again", func() bool { return at.call(t, "ops", "list").code == exitDone })
}

// A role without rights is told which it needs; one that has them needs no others.
func TestRoleWithoutRights(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	owner := server.Database(t)
	at := newServerSite(t, roleFor(t, server, owner))
	for _, args := range [][]string{{"migrate", "up"}, {"store", "init", "--new"}} { // where there is nothing yet
		at.refused(t, "give the role its rights: reprise migrate print", args...)
	}
	callIn(t, []string{"REPRISE_STORE=" + owner, "REPRISE_SECRET_FILE=" + at.secret}, "", "store", "init", "--new")
	for _, args := range [][]string{proxyLine, {"ops", "list"}, {"migrate", "up"}, {"store", "init", "--new"}} {
		at.refused(t, "give the role its rights: reprise migrate print", args...)
	}
	script := at.must(t, "migrate", "print", "--role", roleOf(t, at.dsn))
	var grants []string
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "GRANT") {
			grants = append(grants, line)
		}
	}
	execute(t, owner, strings.Join(grants, ""))
	at.startProxy(t, nil, proxyLine[1:]...)
	at.must(t, "ops", "list")
}

// contents says how many rows are in which table of a database.
func contents(t *testing.T, server *servicetest.PostgresServer, dsn string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), server.AdminDSN(databaseOf(t, dsn)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var all string
	err = conn.QueryRow(t.Context(), `SELECT coalesce(string_agg(n.nspname || '.' || c.relname || ' ' ||
			(xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I.%I', n.nspname, c.relname), false, true, '')))[1], E'\n' ORDER BY 1), '')
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema)'`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A database that is not what the secret says is refused, and left as it is.
func TestDatabasesThatAreRefused(t *testing.T) {
	t.Parallel()
	server := servicetest.Postgres(t)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, at *site)
		want    string
		// others are the other commands that refuse it, too.
		others [][]string
	}{
		"empty, and new or lost": {func(*testing.T, *site) {}, "reprise store init --new --store", [][]string{{"ops", "list"}, {"ops", "purge"}}},
		"with a schema, and new or lost": {func(t *testing.T, at *site) { at.must(t, "migrate", "up") },
			"reprise store init --new --store", nil},
		"emptied": {func(t *testing.T, at *site) {
			at.must(t, "store", "init", "--new")
			execute(t, at.dsn, "DROP SCHEMA reprise CASCADE")
			at.must(t, "migrate", "up") // as a deployment does it
		}, "restore it from a backup", nil},
		"of another secret": {func(t *testing.T, at *site) {
			at.must(t, "store", "init", "--new")
			text, err := reprise.GenerateSecretFile()
			if err != nil {
				t.Fatal(err)
			}
			writeFile(t, at.secret, string(text))
		}, "use the secret file that belongs to this store", [][]string{{"store", "init", "--new"}}},
		"of a version to come": {func(t *testing.T, at *site) {
			at.must(t, "store", "init", "--new")
			execute(t, at.dsn, "INSERT INTO reprise.reprise_schema (version_id, is_applied) VALUES (1000, true)")
		}, "upgrade this program", [][]string{{"ops", "list"}, {"migrate", "up"}, {"store", "init", "--new"}}},
		"read-only": {func(t *testing.T, at *site) {
			at.must(t, "store", "init", "--new")
			execute(t, at.dsn, "ALTER DATABASE "+databaseOf(t, at.dsn)+" SET default_transaction_read_only = on")
		}, "name the primary, or add target_session_attrs=read-write", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newServerSite(t, server.Database(t))
			c.prepare(t, at)
			before, secret := contents(t, server, at.dsn), readFile(t, at.secret)
			at.refused(t, c.want, proxyLine...)
			for _, args := range c.others {
				at.refused(t, "", args...)
			}
			if after := contents(t, server, at.dsn); after != before {
				t.Errorf("was\n%s\nand is\n%s", before, after)
			}
			if readFile(t, at.secret) != secret {
				t.Error("the secret was changed")
			}
		})
	}
}
