package meterledger_test

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger/ledgertest"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t testing.TB) string { return servicetest.Postgres(t).Database(t) })
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t testing.TB) string { return servicetest.MariaDB(t).Database(t) })
}
