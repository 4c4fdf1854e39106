package restore

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/store"
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

// A process that was asked to work while the SQL server is away works when it is back.
func TestWorkBeginsWithoutTheSQLServer(t *testing.T) {
	t.Parallel()
	s := servicetest.NewPostgres(t, servicetest.PostgresOptions{})
	w := newWorld(t, server{s.Database, s.Exec, "reprise.", "", 0})
	p, o := newToy("toy", 12, 4), options("one")
	waits := make(chan struct{})
	var once sync.Once
	o.Log = slog.New(slog.NewTextHandler(writing(func() { once.Do(func() { close(waits) }) }), nil))
	r := New(w.sessions(), p, o)
	v := w.start(r)
	s.Kill()
	ended := in(t.Context(), func(ctx context.Context) error { _, err := r.Work(ctx); return err })
	select {
	case <-waits:
	case err := <-ended:
		t.Fatalf("it has ended: %v", err)
	}
	s.Restart()
	w.must(<-ended)
	v, err := w.sessions().Session(t.Context(), v.ID)
	w.must(err)
	w.restored(p, v)
}

// writing is a writer that only says that there was something to write.
type writing func()

func (f writing) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

// What a step waits for is said until it goes on, and not until it ends: a phase may take hours.
func testTroublePasses(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	applying, goOn, looked := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	looks := 0 // of the manager, while a worker applies
	p.fail = func(call string) error {
		if call == "apply 0" {
			select {
			case <-applying:
			default:
				close(applying)
			}
			<-goOn
		}
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-applying:
		default:
			return nil
		}
		if call == "generation" {
			switch looks++; looks {
			case 1:
				return store.Unavailable(errors.New("a hiccup"))
			case 4: // what comes of the one before is done
				close(looked)
			}
		}
		return nil
	}
	r := w.runner(p, "one")
	v := w.start(r)
	ended := in(t.Context(), func(ctx context.Context) error { _, err := r.Work(ctx); return err })
	<-looked
	v, err := w.sessions().Session(t.Context(), v.ID)
	if err != nil || v.State != Applying || v.Trouble != "" {
		t.Errorf("it is %s and waits for %q, %v", v.State, v.Trouble, err)
	}
	if said := w.events(v, EventTrouble); len(said) != 1 || !strings.Contains(said[0], "a hiccup") {
		t.Errorf("%q", said)
	}
	close(goOn)
	w.must(<-ended)
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

// Whoever goes on with a session asks first whether its target system is the one that the session is of, and asks again before he takes it for lost.
func testAnotherSystem(t *testing.T, s server) {
	w := newWorld(t, s)
	p := newToy("toy", 12, 4)
	sessions, v := w.planned(p)
	p.unready = ErrOtherSystem
	unchanged := func(when string, err error) {
		t.Helper()
		now, failed := sessions.Session(t.Context(), v.ID)
		w.must(failed)
		if !errors.Is(err, ErrOtherSystem) || now.State != v.State || now.Losses != 0 || now.Generation != v.Generation {
			t.Errorf("%s: %v, and the session is %+v", when, err, now)
		}
	}
	_, err := w.runner(p, "one").Work(t.Context())
	unchanged("asked before", err)
	if taken := w.events(v, EventTaken); len(taken) != 1 { // by whoever has planned it
		t.Errorf("the session was taken: %v", taken)
	}
	here := p.target
	p.target = &system{units: map[string]*unit{}, generation: "another"}
	_, err = New(w.sessions(), &mute{toy: p}, options("two")).Work(t.Context())
	unchanged("asked when it answers", err)
	p.target, p.unready = here, nil
	w.restored(p, w.work(w.runner(p, "three")))
}

// mute is a plan whose target system cannot be asked at first.
type mute struct {
	*toy
	asked bool
}

func (p *mute) Ready(ctx context.Context) error {
	if !p.asked {
		p.asked = true
		return nil
	}
	return p.toy.Ready(ctx)
}
