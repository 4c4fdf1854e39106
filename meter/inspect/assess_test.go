package inspect

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

func (s *site) assess() Assessment {
	s.t.Helper()
	a, err := s.Assess(s.t.Context(), time.Now(), 10*time.Second)
	s.must(err)
	return a
}

// A Redis in which the last event of a line is undone is stale: the event is counted, with what may have been granted twice. What is intact has
// the keys that SQL expects, of each family.
func TestAssess(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Redis(t).Database(t))
	a := s.assess()
	if a.Verdict != Intact || a.Lost.Events != 0 || a.Units != 2 || a.Generation != a.RedisGeneration {
		t.Errorf("%+v", a)
	}
	for _, k := range a.Keys {
		if k.Redis != k.Expected || k.Expected == 0 {
			t.Errorf("%+v", k)
		}
	}
	keys := s.Meter.KeysOf(meterredis.Members{Lines: []string{"c"}})
	for _, words := range [][]string{{"SET", keys.LineVersion("c"), "1"}, {"HSET", keys.Individual("c", s.month), "amount", "37", "qos", "50"}} {
		s.must(s.redis.Do(t.Context(), s.redis.B().Arbitrary(words...).Build()).Error())
	}
	a = s.assess()
	if l := a.Lost; a.Verdict != Stale || l.Events != 1 || l.Individual != "37" || l.QoS != "26" || l.Shared != "0" || !l.First.Equal(*l.Last) || !a.GrantedTooMuch {
		t.Errorf("%+v", a)
	}
	s.must(s.Ledger.NewGeneration(t.Context(), a.Generation, "00000000000000000000000000000002", "test", "Redis was lost"))
	a = s.assess()
	if a.Verdict != Stale || a.Lost.Events != 5 || a.GrantedTooMuch || a.Lost.First == nil {
		t.Errorf("%+v", a)
	}
	gone := &Inspector{Ledger: s.Ledger, Horizon: s.Horizon, Unopened: meterledger.ErrUnknown}
	if a, err := gone.Assess(t.Context(), time.Now(), 0); err != nil || a.Verdict != Unreachable || a.Keys[0].Redis != -1 || a.Keys[0].Expected != 2 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A Redis that does not give out all that it holds is not called intact, nor unreachable.
func TestAssessSaysWhatIsHidden(t *testing.T) {
	t.Parallel()
	users := map[string]string{}
	for _, right := range []string{"pexpiretime", "hgetall", "scan", "info", "multi", "exec"} {
		users[right] = "~* &* +@all -@admin +role -" + right
	}
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Users: users})
	s := newSite(t, server.DSN(1))
	for right, hidden := range map[string]int64{"pexpiretime": 2, "hgetall": 2, "scan": 0, "info": 0, "multi": 0, "exec": 0} {
		blind := *s.Inspector
		blind.Meter, blind.Unopened = meterredis.Open(t.Context(), server.UserDSN(right, 1), meterredis.Options{Horizon: s.Horizon}, nil)
		a, err := blind.Assess(t.Context(), time.Now(), 10*time.Second)
		if err != nil || a.Verdict != Unreadable || a.Hidden != hidden || !strings.Contains(a.Detail, "'"+right+"'") {
			t.Errorf("without %s: %+v, %v", right, a, err)
		}
		if counted := a.Keys[0].Redis >= 0; counted != (hidden > 0) {
			t.Errorf("without %s: %+v", right, a.Keys)
		}
		if blind.Meter != nil {
			s.must(blind.Meter.Close())
		}
	}
	if a := s.assess(); a.Verdict != Intact || a.Hidden != 0 {
		t.Errorf("%+v", a)
	}
}

// That SQL fails in the middle says nothing of Redis.
func TestAssessWithoutSQL(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Redis(t).Database(t))
	conn, err := pgx.Connect(t.Context(), s.sql)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	_, err = conn.Exec(t.Context(), "ALTER TABLE reprise.meter_daily_app_total RENAME COLUMN blocked TO taken_away") // which only the audit reads
	s.must(err)
	if a, err := s.Assess(t.Context(), time.Now(), 0); err == nil || !strings.Contains(err.Error(), "blocked") || a.Verdict != "" {
		t.Errorf("%+v, %v", a, err)
	}
}
