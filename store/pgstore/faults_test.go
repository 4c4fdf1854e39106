package pgstore

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/faulttest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	shared := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, MaxConnections: 300})
	faulttest.Run(t, faulttest.Kind{
		Open: func(t *testing.T) faulttest.Subject { subject, _ := newSubject(t, shared); return subject },
		Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
			"server": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				server := servicetest.NewPostgres(t, servicetest.PostgresOptions{})
				subject, proxy := newSubject(t, server)
				troubles := append(faulttest.OfServer(server), faulttest.OfNet(proxy)...)
				return subject, append(troubles, ofPostgres(server)...)
			},
			"disk": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				server := servicetest.NewPostgres(t, servicetest.PostgresOptions{DiskBytes: 64 << 20})
				subject, _ := newSubject(t, server)
				return subject, faulttest.OfDisk(server)
			},
		},
		Refused: mistrusted,
	})
}

// newSubject is a database whose handles go through a proxy.
func newSubject(t *testing.T, server *servicetest.PostgresServer) (faulttest.Subject, *faultnet.Proxy) {
	d := prepare(t, server.Database(t), DefaultSchema)
	proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
	open := func(dsn string) func() (store.Store, error) {
		return func() (store.Store, error) { return Open(t.Context(), dsn, Options{MaxConns: 6}) }
	}
	advance := func(by time.Duration) { // on a connection of its own: others may have been ended
		server.Exec(databaseOf(t, d.dsn), fmt.Sprintf("UPDATE reprise.test_clock SET ahead = ahead + %d", by.Microseconds()))
	}
	return faulttest.Subject{
		Open: open(proxy.Through(d.dsn)), Aside: open(d.dsn), Advance: advance, Wire: faulttest.Net(proxy),
	}, proxy
}

// ofPostgres are troubles that an administrator makes. Sessions that are open are ended with each.
func ofPostgres(server *servicetest.PostgresServer) []faulttest.Trouble {
	asAdmin := func(sql string) func() {
		return func() {
			server.Exec("postgres", sql)
			server.Exec("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")
		}
	}
	dsn, _ := url.Parse(server.DSN("postgres"))
	password, _ := dsn.User.Password()
	return []faulttest.Trouble{
		{Name: "read-only", Begin: asAdmin("ALTER ROLE app SET default_transaction_read_only = on"), End: asAdmin("ALTER ROLE app RESET ALL")},
		{Name: "no connection left", Begin: asAdmin("ALTER ROLE app CONNECTION LIMIT 0"), End: asAdmin("ALTER ROLE app CONNECTION LIMIT -1")},
		{Name: "another password", Begin: asAdmin("ALTER ROLE app PASSWORD 'another'"), End: asAdmin("ALTER ROLE app PASSWORD '" + password + "'")},
	}
}

// mistrusted are ways to connect that a server which wants TLS refuses, or is not to be trusted with.
func mistrusted(t *testing.T) map[string]func(context.Context) (store.Store, error) {
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, TLS: true})
	d := prepare(t, server.Database(t), DefaultSchema)
	d.open(Options{})
	other := httptest.NewTLSServer(nil)
	defer other.Close()
	ca := filepath.Join(t.TempDir(), "other.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong, err := url.Parse(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword("app", "wrong")
	ways := map[string]func(context.Context) (store.Store, error){}
	for name, dsn := range map[string]string{
		"without TLS": with(t, d.dsn, "sslmode", "disable"), "another authority": with(t, d.dsn, "sslrootcert", ca), "wrong password": wrong.String(),
	} {
		ways[name] = func(ctx context.Context) (store.Store, error) { return Open(ctx, dsn, Options{}) }
	}
	return ways
}
