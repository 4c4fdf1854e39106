package mysqlstore

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/faultnet"
	"github.com/reprise-dev/reprise/internal/faulttest"
	"github.com/reprise-dev/reprise/internal/servicetest"
)

func TestSecretThatIsWrittenTooLate(t *testing.T) {
	t.Parallel()
	server := servicetest.MariaDB(t)
	d := prepare(t, server.Database(t))
	proxy := faultnet.New(t, server.Addr(), faultnet.MySQL())
	s, err := open(t.Context(), proxy.Through(d.dsn), Options{MaxConns: 6}, movable)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	faulttest.LateSecret(t, proxy, s, d.open(Options{}), d.advance)
}
