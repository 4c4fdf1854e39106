//go:build unix

package servicetest

import (
	"fmt"
	"net/url"
	"os"
	"sync"
)

// externalPostgres names a server that already runs.
const externalPostgres = "REPRISE_TEST_POSTGRES"

// sharedPostgres is the server that all tests of the process share, started by the first that asks.
var sharedPostgres = sync.OnceValues(func() (*postgres, error) {
	dsn := os.Getenv(externalPostgres)
	if dsn == "" {
		p, err := startPostgres(PostgresOptions{MaxConnections: 300})
		if err == nil {
			p.shared = true
		}
		return p, err
	}
	there, err := url.Parse(dsn)
	if err != nil || there.Scheme != "postgres" && there.Scheme != "postgresql" {
		return nil, fmt.Errorf("%s is not of the form postgres://user:password@host/database", externalPostgres)
	}
	return &postgres{daemon: &daemon{kind: "PostgreSQL", log: newServerLog(), shared: true}, external: there}, nil
})
