package restore

import (
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// The SQL server dies again and again in the middle of a session. Nothing ends, and nothing is done twice.
func TestTheSQLServerDies(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := servicetest.NewPostgres(t, servicetest.PostgresOptions{})
		testOutage(t, server{s.Database, s.Exec, "reprise.", ""}, func() { s.Kill(); s.Restart() })
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		s := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{})
		testOutage(t, server{s.Database, s.Exec, "", ""}, func() { s.Kill(); s.Restart() })
	})
}

func testOutage(t *testing.T, s server, die func()) {
	w := newWorld(t, s)
	p := newToy("toy", 24, 4)
	p.wrong = "u00011"
	var mu sync.Mutex
	seen := map[string]int{}
	r := New(w.sessions(), watched{p, func(moment string) error {
		mu.Lock()
		defer mu.Unlock()
		seen[moment]++
		switch {
		case moment == "after renew", moment == "after targets" && seen[moment] == 5, moment == "before apply" && seen[moment] == 3,
			moment == "after apply" && seen[moment] == 9, moment == "after verify" && seen[moment] == 2, moment == "after correct", moment == "after open" && seen[moment] == 1:
			die()
		}
		return nil
	}}, options("one"))
	w.start(r)
	v := w.work(r)
	w.restored(p, v)
	if v.Losses != 0 {
		t.Errorf("the target system was taken for lost: %+v", v)
	}
}
