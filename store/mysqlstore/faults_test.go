package mysqlstore

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
	shared := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, MaxConnections: 400})
	faulttest.Run(t, faulttest.Kind{
		Open: func(t *testing.T) faulttest.Subject { subject, _ := newSubject(t, shared); return subject },
		Harm: map[string]func(t *testing.T) (faulttest.Subject, []faulttest.Trouble){
			"server": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{})
				subject, proxy := newSubject(t, server)
				troubles := append(faulttest.OfServer(server), faulttest.OfNet(proxy)...)
				return subject, append(troubles, ofMariaDB(server)...)
			},
			"disk": func(t *testing.T) (faulttest.Subject, []faulttest.Trouble) {
				server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{DiskBytes: 96 << 20})
				subject, _ := newSubject(t, server)
				return subject, faulttest.OfDisk(server)
			},
		},
		Refused: mistrusted,
	})
}

// newSubject is a database whose handles go through a proxy.
func newSubject(t *testing.T, server *servicetest.MariaDBServer) (faulttest.Subject, *faultnet.Proxy) {
	d := prepare(t, server.Database(t))
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	open := func(dsn string) func() (store.Store, error) {
		return func() (store.Store, error) { return open(t.Context(), dsn, Options{MaxConns: 6}, movable) }
	}
	advance := func(by time.Duration) { // on a connection of its own: others may have been ended
		server.Exec(databaseOf(t, d.dsn), fmt.Sprintf("UPDATE test_clock SET ahead = ahead + %d", by.Microseconds()))
	}
	return faulttest.Subject{
		Open: open(proxy.Through(d.dsn)), Aside: open(d.dsn), Advance: advance, Wire: faulttest.Net(proxy),
	}, proxy
}

// ofMariaDB are troubles that an administrator makes. Sessions that are open are ended with each.
func ofMariaDB(server *servicetest.MariaDBServer) []faulttest.Trouble {
	asAdmin := func(sql string) func() {
		return func() { server.Exec("mysql", sql+"; KILL USER app") }
	}
	dsn, _ := url.Parse(server.DSN("mysql"))
	password, _ := dsn.User.Password()
	return []faulttest.Trouble{
		{Name: "read-only", Begin: asAdmin("SET GLOBAL read_only = ON"), End: asAdmin("SET GLOBAL read_only = OFF")},
		{Name: "no connection left", Begin: asAdmin("ALTER USER app WITH MAX_USER_CONNECTIONS 1 MAX_CONNECTIONS_PER_HOUR 1"), End: asAdmin("ALTER USER app WITH MAX_USER_CONNECTIONS 0 MAX_CONNECTIONS_PER_HOUR 0; FLUSH USER_RESOURCES")},
		{Name: "another password", Begin: asAdmin("ALTER USER app IDENTIFIED BY 'another'"), End: asAdmin("ALTER USER app IDENTIFIED BY '" + password + "'")},
	}
}

// mistrusted are ways to connect that a server which wants TLS refuses, or is not to be trusted with.
func mistrusted(t *testing.T) map[string]func(context.Context) (store.Store, error) {
	server := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{Unsafe: true, TLS: true})
	d := prepare(t, server.Database(t))
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
		"without TLS": with(t, without(t, d.dsn, "ca"), "tls", "false"), "another authority": with(t, d.dsn, "ca", ca), "wrong password": wrong.String(),
	} {
		ways[name] = func(ctx context.Context) (store.Store, error) { return Open(ctx, dsn, Options{}) }
	}
	return ways
}
