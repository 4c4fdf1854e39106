package main

import (
	"crypto/rand"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

// site is a store that is ready for a test, with what a process needs to use it.
type site struct {
	dsn     string
	dir     string   // where its processes run
	secret  string   // the file with its secret, once there is one
	environ []string // of its processes
}

// onEachStore runs a test on every kind of store that outlives a process.
func onEachStore(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	onStores(t, map[string]func(t *testing.T) *site{"SQLite": newFileSite, "PostgreSQL": newPostgresSite, "MariaDB": newMySQLSite, "Redis": newRedisSite}, test)
}

func onStores(t *testing.T, stores map[string]func(t *testing.T) *site, test func(t *testing.T, s *site)) {
	t.Helper()
	for name, newSite := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t))
		})
	}
}

// newFileSite is a folder in which the first process makes a SQLite store.
func newFileSite(t *testing.T) *site {
	path := filepath.Join(t.TempDir(), storeFile)
	s := &site{dir: filepath.Dir(path), secret: secretBeside(path)}
	s.name("sqlite:" + path)
	return s
}

// password is that of the roles that tests make. It must not be printed anywhere.
const password = "hunter2-hunter2"

// newPostgresSite is a store in a database of its own on the shared server.
func newPostgresSite(t *testing.T) *site {
	t.Helper()
	server := servicetest.Postgres(t)
	owner := server.Database(t)
	s := newSiteIn(t, server, owner)
	dropRole(t, server, owner, s.dsn)
	return s
}

// dropRole takes away the role of a DSN at the end of the test, before its database goes.
func dropRole(t *testing.T, server *servicetest.PostgresServer, owner, dsn string) {
	t.Helper()
	role := roleOf(t, dsn)
	t.Cleanup(func() {
		server.Exec(databaseOf(t, owner), "DROP OWNED BY "+role)
		server.Exec("postgres", "DROP ROLE "+role)
	})
}

// newSiteIn is a store in a database, as the documentation says: the owner runs what is printed, and the
// service has a role with no other rights.
func newSiteIn(t *testing.T, server *servicetest.PostgresServer, owner string) *site {
	t.Helper()
	s := newServerSite(t, roleFor(t, server, owner))
	script := must(t, "migrate", "print", "--store", "postgres://", "--role", roleOf(t, s.dsn))
	execute(t, owner, "BEGIN;"+script+"COMMIT")
	s.must(t, "store", "init", "--new")
	return s
}

// newMySQLSite is a store in a database of its own on the shared server. Its owner runs what is printed, and the
// service has a user with no other rights.
func newMySQLSite(t *testing.T) *site {
	t.Helper()
	server := servicetest.MariaDB(t)
	owner := server.Database(t)
	s := newServerSite(t, userFor(t, server, owner))
	server.Exec(databaseOf(t, owner), must(t, "migrate", "print", "--store", s.dsn, "--role", roleOf(t, s.dsn)))
	s.must(t, "store", "init", "--new")
	return s
}

// newRedisSite is a store in a database of its own on the shared server, whose user has no rights of administration.
func newRedisSite(t *testing.T) *site {
	t.Helper()
	return newRedisSiteIn(t, servicetest.Redis(t).Database(t))
}

// newRedisSiteIn is a new store on a Redis that has none.
func newRedisSiteIn(t *testing.T, dsn string) *site {
	t.Helper()
	s := newServerSite(t, dsn)
	s.must(t, "store", "init", "--new")
	return s
}

// newServerSite has a secret, and nothing yet in the database of its DSN.
func newServerSite(t *testing.T, dsn string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{dir: dir, secret: filepath.Join(dir, "reprise.secret")}
	text, err := reprise.GenerateSecretFile()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, s.secret, string(text))
	s.name(dsn)
	return s
}

// name says where the store is.
func (s *site) name(dsn string) {
	s.dsn, s.environ = dsn, []string{"REPRISE_STORE=" + dsn}
	if !strings.HasPrefix(dsn, "sqlite:") {
		s.environ = append(s.environ, "REPRISE_SECRET_FILE="+s.secret)
	}
}

// roleFor makes a role without any rights, and returns its DSN of a database.
func roleFor(t *testing.T, server *servicetest.PostgresServer, dsn string) string {
	t.Helper()
	role := "service_" + strings.ToLower(rand.Text())
	server.Exec("postgres", "CREATE ROLE "+role+" LOGIN PASSWORD '"+password+"'")
	return changed(t, dsn, func(u *url.URL) { u.User = url.UserPassword(role, password) })
}

// userFor makes a user of MariaDB without any rights, until the end of the test, and returns its DSN of a database.
func userFor(t *testing.T, server *servicetest.MariaDBServer, dsn string) string {
	t.Helper()
	user := "service_" + strings.ToLower(rand.Text())[:16]
	server.Exec("mysql", "CREATE USER "+user+" IDENTIFIED BY '"+password+"'")
	t.Cleanup(func() { server.Exec("mysql", "DROP USER "+user) })
	return changed(t, dsn, func(u *url.URL) { u.User = url.UserPassword(user, password) })
}

// changed returns a DSN that differs.
func changed(t *testing.T, dsn string, change func(u *url.URL)) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

// with returns a DSN with one more parameter.
func with(t *testing.T, dsn, name, value string) string {
	t.Helper()
	return changed(t, dsn, func(u *url.URL) {
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
	})
}

func roleOf(t *testing.T, dsn string) (role string) {
	t.Helper()
	changed(t, dsn, func(u *url.URL) { role = u.User.Username() })
	return role
}

func passwordOf(t *testing.T, dsn string) (secret string) {
	t.Helper()
	changed(t, dsn, func(u *url.URL) { secret, _ = u.User.Password() })
	return secret
}

func databaseOf(t *testing.T, dsn string) (name string) {
	t.Helper()
	changed(t, dsn, func(u *url.URL) { name = strings.TrimPrefix(u.Path, "/") })
	return name
}

// startProxy starts a proxy on the store.
func (s *site) startProxy(t *testing.T, environ []string, args ...string) *proxyProcess {
	t.Helper()
	return startProxy(t, s.dir, append(environ, s.environ...), args...)
}

// call runs a command line in this process, on the store.
func (s *site) call(t *testing.T, args ...string) called {
	t.Helper()
	return callIn(t, s.environ, "", args...)
}

// must is call for what has to work.
func (s *site) must(t *testing.T, args ...string) string {
	t.Helper()
	c := s.call(t, args...)
	if c.code != exitDone {
		t.Fatalf("reprise %s: exit code %d: %s", strings.Join(args, " "), c.code, c.err)
	}
	return c.out
}

// notes is what a listing says beside its records. In Redis it says also that it is a scan.
func (s *site) notes(c called) string {
	text, scan, _ := strings.Cut(c.err, "not every record was looked at")
	if strings.HasPrefix(s.dsn, "redis") != (scan != "") {
		return c.err
	}
	return text
}

// execute runs statements in the database of a DSN.
func execute(t *testing.T, dsn, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statements); err != nil {
		t.Errorf("%s: %v", statements, err)
	}
}
