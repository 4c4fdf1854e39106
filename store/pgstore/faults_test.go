package pgstore

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/faulttest"
	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	server := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true, MaxConnections: 300})
	faulttest.Run(t, faulttest.Kind{Open: func(t *testing.T) faulttest.Subject {
		d := prepare(t, server.Database(t), DefaultSchema)
		proxy := faultnet.New(t, server.Addr(), faultnet.Postgres())
		open := func(dsn string) func() (store.Store, error) {
			return func() (store.Store, error) { return Open(t.Context(), dsn, Options{MaxConns: 6}) }
		}
		return faulttest.Subject{
			Open: open(proxy.Through(d.dsn)), Aside: open(d.dsn), Advance: d.advance, Wire: faulttest.Net(proxy),
		}
	}})
}
