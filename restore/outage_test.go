package restore

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
)

// The SQL server dies in the middle of a session, again and again; in an ordinary run once, at a moment by chance. Nothing ends, and
// nothing is done twice.
func TestTheSQLServerDies(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		s := servicetest.NewPostgres(t, servicetest.PostgresOptions{})
		testOutage(t, server{s.Database, s.Exec, "reprise.", "", 0}, func() { s.Kill(); s.Restart() })
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		s := servicetest.NewMariaDB(t, servicetest.MariaDBOptions{})
		testOutage(t, server{s.Database, s.Exec, "", "", 1}, func() { s.Kill(); s.Restart() })
	})
}

// moments is how many there are at which the server may die.
const moments = 7

func testOutage(t *testing.T, s server, die func()) {
	w := newWorld(t, s)
	p := newToy("toy", 24, 4)
	p.wrong = "u00011"
	var mu sync.Mutex
	seen, deaths := map[string]int{}, 0
	only := rand.IntN(moments)
	r := New(w.sessions(), watched{p, func(moment string) error {
		mu.Lock()
		defer mu.Unlock()
		seen[moment]++
		switch {
		case moment == "after renew", moment == "after targets" && seen[moment] == 5, moment == "before apply" && seen[moment] == 3,
			moment == "after apply" && seen[moment] == 9, moment == "after verify" && seen[moment] == 2, moment == "after correct", moment == "after open" && seen[moment] == 1:
			if deaths++; proving() || deaths-1 == only {
				t.Logf("the server dies %s", moment)
				die()
			}
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
