package inspect

import (
	"strings"
	"testing"
	"time"

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

// A Redis that does not give out what it holds is not called intact.
func TestAssessSaysWhatIsHidden(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Users: map[string]string{"blind": "~* &* +@all -@admin +role -pexpiretime"}})
	s := newSite(t, server.DSN(1))
	all := s.Meter
	blind, err := meterredis.Open(t.Context(), server.UserDSN("blind", 1), meterredis.Options{Horizon: s.Horizon}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.must(blind.Close()) }()
	s.Meter = blind
	if a := s.assess(); a.Verdict != Unreadable || a.Hidden != 2 || !strings.Contains(a.Detail, "pexpiretime") {
		t.Errorf("%+v", a)
	}
	s.Meter = all
	if a := s.assess(); a.Verdict != Intact || a.Hidden != 0 {
		t.Errorf("%+v", a)
	}
}
