package inspect

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// site is a hydrated meter with usage of a family and of a line in none.
type site struct {
	t *testing.T
	*Inspector
	redis rueidis.Client
	dsn   string
	sql   string
	in    *pipeline.Intake
	month meter.Month
	day   meter.Day
}

func newSite(t *testing.T, redis string) *site {
	t.Helper()
	horizon := meter.Horizon{Retention: 24 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead}
	ledger := servicetest.Postgres(t).Database(t)
	l, err := meterledger.Open(t.Context(), ledger, meterledger.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dsn: redis, sql: ledger, Inspector: &Inspector{Ledger: l, Horizon: horizon}}
	t.Cleanup(func() { s.must(l.Close()) })
	now := time.Now()
	s.day = s.Calendar.Day(now)
	s.month = s.Calendar.MonthOf(s.day)
	lines := []meterledger.Line{{ID: "a", Family: "fam", Individual: 100, QoS: 10}, {ID: "b", Family: "fam", Individual: 100}, {ID: "c", Individual: 100, QoS: 50}}
	s.must(l.Import(t.Context(), []meterledger.Family{{ID: "fam", Shared: 1000}}, lines, []string{"video"}))
	_, err = s.keeper().OpenMonths(t.Context())
	s.must(err)
	_, err = pipeline.Hydrate(t.Context(), pipeline.Hydration{Ledger: l, Redis: redis, Horizon: horizon, Who: "test", Why: "it begins"})
	s.must(err)
	m, err := meterredis.Open(t.Context(), redis, meterredis.Options{Horizon: horizon}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.must(m.Close()) })
	s.Meter = m
	s.connect()
	s.use(now)
	return s
}

func (s *site) keeper() *pipeline.Keeper {
	return &pipeline.Keeper{Meter: s.Meter, Ledger: s.Ledger, Directory: pipeline.NewDirectory(s.Ledger, 0), Horizon: s.Horizon}
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Error(err)
	}
}

// connect opens a client of its own, for what somebody changes by hand.
func (s *site) connect() {
	at, err := url.Parse(s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	password, _ := at.User.Password()
	option := rueidis.ClientOption{InitAddress: strings.Split(at.Host, ","), Username: at.User.Username(), Password: password, DisableCache: true}
	if database := strings.Trim(at.Path, "/"); database != "" {
		_, err = fmt.Sscan(database, &option.SelectDB)
		s.must(err)
	}
	if s.redis, err = rueidis.NewClient(option); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(s.redis.Close)
}

// use has events decided, of every kind of key.
func (s *site) use(now time.Time) {
	streams, err := s.Meter.OpenStreams(s.t.Context(), 1000)
	s.must(err)
	directory := pipeline.NewDirectory(s.Ledger, time.Minute)
	s.in = &pipeline.Intake{Meter: s.Meter, Streams: streams, Ledger: s.Ledger, Directory: directory, Horizon: s.Horizon}
	ctx, cancel := context.WithCancel(s.t.Context())
	worker := pipeline.NewWorker(pipeline.WorkerOptions{Meter: s.Meter, Streams: streams, Ledger: s.Ledger, Directory: directory})
	var group sync.WaitGroup
	group.Go(func() { worker.Run(ctx) })
	defer group.Wait()
	defer cancel()
	var events []meter.Event
	for n, u := range []struct {
		line  string
		bytes int64
	}{{"a", 60}, {"a", 61}, {"b", 62}, {"c", 63}, {"c", 63}} { // the two of c are decided in any order
		events = append(events, meter.Event{ID: fmt.Sprint("e-", n), Line: u.line, App: "video", Bytes: u.bytes, At: now.Truncate(time.Microsecond)})
	}
	_, err = s.in.Accept(ctx, now, events)
	s.must(err)
	for _, a := range s.in.AwaitAll(ctx, events) {
		s.must(a.Err)
	}
}

func (s *site) audit() Report {
	s.t.Helper()
	r, err := s.Audit(s.t.Context(), time.Now(), 10*time.Second)
	s.must(err)
	return r
}

func onRedis(t *testing.T, test func(t *testing.T, s *site)) {
	for name, dsn := range map[string]func(t *testing.T) string{
		"alone": func(t *testing.T) string { return servicetest.Redis(t).Database(t) },
		"cluster": func(t *testing.T) string {
			return servicetest.NewRedisCluster(t, servicetest.RedisClusterOptions{}).DSN()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, dsn(t)))
		})
	}
}

// An audit finds whatever differs in Redis, of every kind of key, and nothing else.
func TestAuditFindsDifferences(t *testing.T) {
	t.Parallel()
	onRedis(t, func(t *testing.T, s *site) {
		if r := s.audit(); !r.Clean() || r.Events != 5 || r.Units != 2 || r.Lines != 3 {
			t.Errorf("%+v", r)
		}
		if _, err := s.Ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
			t.Error(err)
		}
		if r := s.audit(); !r.Clean() {
			t.Errorf("folded: %+v", r)
		}
		family, lone := "f:fam", "l:c"
		for kind, c := range map[string]struct{ unit, rest, field string }{
			"remaining_indiv_amount":  {lone, "c:" + s.month.String(), "qos"},
			"remaining_shared_amount": {family, "fam:" + s.month.String(), "amount"},
			"daily_total_usage":       {family, "b:" + s.day.String(), ""},
			"daily_app_usage":         {lone, "c:" + s.day.String(), "app:video:qos"},
			"daily_shared_usage":      {family, "a:" + s.day.String(), "usage_amount"},
			"monthly_shared_usage":    {family, "a:" + s.month.String(), "usage_amount"},
		} {
			key := kind + ":" + redisstore.Bucket(c.unit) + ":" + c.rest
			for _, by := range []int64{1, -1} {
				var err error
				if c.field == "" {
					err = s.redis.Do(t.Context(), s.redis.B().Incrby().Key(key).Increment(by).Build()).Error()
				} else {
					err = s.redis.Do(t.Context(), s.redis.B().Hincrby().Key(key).Field(c.field).Increment(by).Build()).Error()
				}
				s.must(err)
				r := s.audit()
				if found := len(r.Differences) == 1 && strings.HasPrefix(r.Differences[0].Where, kind); found != (by > 0) || len(r.Unflushed) > 0 {
					t.Errorf("%s by %d: %+v", key, by, r)
				}
			}
		}
	})
}

// What SQL does not have yet is unflushed, and what Redis has lost of it is a difference.
func TestAuditTellsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Redis(t).Database(t))
	version := "version:" + redisstore.Bucket("l:c") + ":l:c"
	s.must(s.redis.Do(t.Context(), s.redis.B().Incr().Key(version).Build()).Error())
	if r, err := s.Audit(t.Context(), time.Now(), 300*time.Millisecond); err != nil || len(r.Unflushed) != 1 || r.Unflushed[0] != "l:c" || len(r.Differences) > 0 {
		t.Errorf("Redis has decided more: %+v, %v", r, err)
	}
	s.must(s.redis.Do(t.Context(), s.redis.B().Decrby().Key(version).Decrement(2).Build()).Error())
	if r := s.audit(); len(r.Differences) != 1 || r.Differences[0].Key != version {
		t.Errorf("the number alone is another: %+v", r)
	}
	total := "daily_total_usage:" + redisstore.Bucket("l:c") + ":c:" + s.day.String()
	s.must(s.redis.Do(t.Context(), s.redis.B().Decrby().Key(total).Decrement(63).Build()).Error())
	if r := s.audit(); len(r.Differences) != 1 || !strings.HasPrefix(r.Differences[0].Where, "changes of l:c") || r.Differences[0].Key != "" {
		t.Errorf("Redis has lost something: %+v", r)
	}
}

// What is new is not missed before it is let in, and a unit that is closed is no key to be put right.
func TestAuditKnowsWhatIsNewAndWhatMoves(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Redis(t).Database(t))
	s.must(s.Ledger.Import(t.Context(), []meterledger.Family{{ID: "empty"}}, []meterledger.Line{{ID: "d", Family: "fam"}, {ID: "e"}}, nil))
	if r := s.audit(); !r.Clean() || r.Units != 4 {
		t.Errorf("imported: %+v", r)
	}
	_, err := s.keeper().OpenMonths(t.Context())
	s.must(err)
	if r, err := s.Audit(t.Context(), time.Now(), 300*time.Millisecond); err != nil || len(r.Unflushed) != 3 || len(r.Differences) > 0 {
		t.Errorf("granted, and not let in: %+v, %v", r, err)
	}
	for done := 1; done > 0; {
		done, err = s.keeper().Confirm(t.Context())
		s.must(err)
	}
	if r := s.audit(); !r.Clean() {
		t.Errorf("let in: %+v", r)
	}
	s.must(s.Meter.OpenUnit(t.Context(), "c", "", false))
	r, err := s.Audit(t.Context(), time.Now(), 300*time.Millisecond)
	if err != nil || len(r.Differences) != 1 || r.Differences[0].Key != "" || r.Differences[0].Is != "closed" {
		t.Errorf("closed: %+v, %v", r, err)
	}
}

// A status says why nothing is decided.
func TestStatusSaysWhy(t *testing.T) {
	t.Parallel()
	s := newSite(t, servicetest.Redis(t).Database(t))
	reasons := func() (all []meter.Reason) {
		status, err := s.Line(t.Context(), time.Now(), "a", 0)
		s.must(err)
		if status.Decides != (len(status.Why) == 0) {
			t.Errorf("%+v", status)
		}
		for _, c := range status.Why {
			all = append(all, c.Reason)
		}
		return all
	}
	unit, gate := "unit:"+redisstore.Bucket("f:fam")+":f:fam", "policy:"+redisstore.Bucket("f:fam")+":8"
	set := func(key, field, value string) func() {
		return func() {
			s.must(s.redis.Do(t.Context(), s.redis.B().Hset().Key(key).FieldValue().FieldValue(field, value).Build()).Error())
		}
	}
	none := func() {}
	for _, step := range []struct {
		do, undo func()
		want     string
	}{
		{none, none, "[]"},
		{set(gate, "open", "no"), set(gate, "open", "yes"), "[gate_closed]"},
		{set(unit, "open", "0"), set(unit, "open", "1"), "[unit_closed]"},
		{set(unit, "phase", "1"), set(unit, "phase", "3"), "[unit_not_hydrated]"},
		{func() {
			s.must(s.redis.Do(t.Context(), s.redis.B().Hdel().Key(unit).Field("opened:"+s.month.String()).Build()).Error())
		}, set(unit, "opened:"+s.month.String(), "1"), "[month_not_open]"},
		{none, none, "[]"},
	} {
		step.do()
		if got := fmt.Sprint(reasons()); got != step.want {
			t.Errorf("%s, want %s", got, step.want)
		}
		step.undo()
	}
	if _, err := s.Family(t.Context(), time.Now(), "nobody", 0); err == nil {
		t.Error("a family that is not there has a status")
	}
	s.Inspector = &Inspector{Ledger: s.Ledger, Horizon: s.Horizon}
	if got := fmt.Sprint(reasons()); got != "[store_unavailable]" {
		t.Errorf("without Redis: %s", got)
	}
	if _, err := s.Audit(t.Context(), time.Now(), 0); err == nil {
		t.Error("an audit without Redis has found nothing")
	}
}
