package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

// restoreSite is a hydrated meter, and what a person calls to restore it.
type restoreSite struct {
	t          *testing.T
	server     *servicetest.RedisServer
	redis, dsn string
	ledger     *meterledger.Ledger
	horizon    meter.Horizon
	byHand     *servicetest.RedisConn
}

func newRestoreSite(t *testing.T, lines int) *restoreSite {
	t.Helper()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	s := newRestoreSiteIn(t, server.DSN(1), lines)
	s.server = server
	s.connect()
	return s
}

// newRestoreSiteIn is a site in a Redis of some kind.
func newRestoreSiteIn(t *testing.T, redis string, lines int) *restoreSite {
	t.Helper()
	ctx := t.Context()
	s := &restoreSite{t: t, redis: redis, dsn: servicetest.Postgres(t).Database(t)}
	s.horizon = meter.Horizon{Retention: 7 * 24 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead}
	var err error
	if s.ledger, err = meterledger.Open(ctx, s.dsn, meterledger.Options{Migrate: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.ledger.Close() })
	var all []meterledger.Line
	for i := range lines {
		all = append(all, meterledger.Line{ID: fmt.Sprintf("line-%d", i), Individual: 1000, QoS: 500})
	}
	if err := s.ledger.Import(ctx, nil, all, []string{"video"}); err != nil {
		t.Fatal(err)
	}
	keeper := &pipeline.Keeper{Ledger: s.ledger, Horizon: s.horizon}
	if _, err := keeper.OpenMonths(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Hydrate(ctx, pipeline.Hydration{Ledger: s.ledger, Redis: s.redis, Horizon: s.horizon, Who: "test", Why: "it begins"}); err != nil {
		t.Fatal(err)
	}
	return s
}

// connect connects somebody who changes Redis by hand.
func (s *restoreSite) connect() {
	s.t.Helper()
	conn, err := s.server.Dial(s.server.AdminDSN(1))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	s.byHand = conn
}

func (s *restoreSite) do(words ...string) {
	s.t.Helper()
	if _, err := s.byHand.Do(words...); err != nil {
		s.t.Fatal(err)
	}
}

// as makes somebody who has all rights but some the user of Redis from now on, and returns the DSN of before.
func (s *restoreSite) as(less string) (before string) {
	s.t.Helper()
	s.do("ACL", "SETUSER", "less", "on", ">pass", "~*", "&*", "+@all", less)
	at, err := url.Parse(s.redis)
	if err != nil {
		s.t.Fatal(err)
	}
	at.User = url.UserPassword("less", "pass")
	before, s.redis = s.redis, at.String()
	return before
}

// call runs `reprise restore`, and returns what it says.
func (s *restoreSite) call(want int, args ...string) said {
	s.t.Helper()
	code, text := s.ask(args...)
	if code != want {
		s.t.Errorf("%v: exit code %d, want %d\n%s", args, code, want, text)
	}
	return said{s.t, text}
}

// ask is call where any exit code will do.
func (s *restoreSite) ask(args ...string) (code int, text string) {
	code, out, failure := s.run(args...)
	return code, out + failure
}

// run is ask with what is said on each of the two outputs.
func (s *restoreSite) run(args ...string) (code int, onOut, onErr string) {
	var out, failure bytes.Buffer
	environ := []string{"REPRISE_METER_REDIS=" + s.redis, "REPRISE_METER_LEDGER=" + s.dsn, "REPRISE_METER_TAKE_OVER=1s", "USER=ann"}
	code = run(s.t.Context(), append([]string{"restore"}, args...), process{Out: &out, Err: &failure, Environ: environ})
	return code, out.String(), failure.String()
}

// json runs a command that prints JSON, wants nothing else on its output, and returns its last line; words for people are on the other output.
func (s *restoreSite) json(words string, args ...string) (last map[string]any) {
	s.t.Helper()
	code, out, failure := s.run(append(args, "--json")...)
	for line := range strings.Lines(out) {
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			s.t.Errorf("%v: %q is no JSON: %v", args, line, err)
		}
	}
	if code != 0 || last == nil || !strings.Contains(failure, words) {
		s.t.Errorf("%v: exit code %d, %v, and beside it %q, want %q", args, code, last, failure, words)
	}
	return last
}

// said is what a command has printed.
type said struct {
	t    *testing.T
	text string
}

func (s said) has(want ...string) {
	s.t.Helper()
	for _, w := range want {
		if !strings.Contains(s.text, w) {
			s.t.Errorf("does not say %q:\n%s", w, s.text)
		}
	}
}

// What a person does at three in the morning: look, restore with one command, look at how it went, and prove it.
func TestRestoreCommands(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 50)
	server, dsn, call, byHand := s.server, s.dsn, s.call, s.do
	unchanged := watchWrites(t, server, dsn)
	call(0, "assess").has("intact", "nothing is to be restored")
	call(1, "status").has("reprise restore start")
	call(0, "verify").has("all equal")
	call(0, "verify", "--correct", "--dry-run").has("all equal")
	call(0, "verify", "--sample", "0.5").has("all equal")
	call(0, "start", "--dry-run").has("intact")
	unchanged()
	call(2, "start", "--plan", "other").has(`no plan "other"`)
	shorter := filepath.Join(t.TempDir(), "meter.yaml")
	writeFile(t, shorter, "retention: 1d\n")
	for _, command := range []string{"start", "verify", "assess", "drill"} {
		call(2, command, "--config", shorter).has("its retention is 168h0m0s", "configure both as the ledger has them")
	}
	call(2, "start", "--failure-time", "yesterday").has("2026-03-01T03:00:00Z")
	call(2, "start", "--failure-time", time.Now().Add(time.Hour).Format(time.RFC3339)).has("time of failure", "is in the future")
	call(1, "start", "--failure-time", time.Now().AddDate(0, 0, -8).Format(time.RFC3339)).has("time of failure", "more than 168h0m0s ago")
	call(2, "start", "--rate", "-5").has("write 0 or more")
	server.FlushAll()
	call(exitDifferent, "assess").has("empty", "50 units", "remaining_indiv_amount", "as SQL says")
	call(exitDifferent, "assess", "--json").has(`"verdict":"empty"`, `{"family":"unit","expected":50,"redis":0}`)
	call(exitDifferent, "start", "--dry-run").has("50 units")
	call(exitUnreadable, "verify").has("no generation in all of its parts", "reprise restore assess")
	call(0, "start", "--why", "Redis was emptied").has("session 1 begins", "complete, verified, and the gate is open")
	call(0, "start").has("already complete, nothing done")
	call(0, "status").has("session 1 of plan meter: done, begun by ann", "Redis was emptied", "50 of 50 units")
	call(0, "status", "--json").has(`"state":"done"`, `"units_done":50`)
	call(0, "verify").has("all equal")
	call(0, "assess").has("intact")
	call(2, "verify", "--sample", "2").has("no part of the whole")
	call(1, "undo").has("no restore")
	key := "remaining_indiv_amount:" + meterredis.UnitBucket("line-7", "") + ":line-7:" + meter.Calendar{}.Month(time.Now()).String()
	byHand("HSET", key, "amount", "1001")
	byHand("SET", "version:{0001}:l:nobody", "1")
	unchanged = watchWrites(t, server, dsn)
	call(exitDifferent, "verify", "--correct", "--dry-run").has("different   "+key, `amount="1001"`, "extra       version:{0001}:l:nobody", "1 different, 1 extra")
	unchanged()
	call(0, "verify", "--correct").has("corrected   "+key, "2 corrected", "reprise restore undo 2")
	call(0, "verify").has("all equal")
	all := s.as("-restore")
	unchanged = watchWrites(t, server, dsn)
	call(1, "undo").has("nothing was put back", "+restore")
	unchanged()
	s.redis = all
	call(0, "undo").has("undone      "+key, "2 put back, 0 left")
	call(exitDifferent, "verify", "--patience", "1ms").has("1 different, 1 extra")
	call(0, "verify", "--correct", "--patience", "1ms").has("2 corrected")
	byHand("HSET", key, "amount", "999")
	call(exitSkipped, "undo").has("1 put back, 1 left")
	call(0, "verify", "--correct").has("2 corrected")
	call(2, "undo", "x").has("not the number of a session")
	call(0, "certificate").has("digest of what Redis holds now", "remaining_indiv_amount", "the gate was opened by the process", "for ann")
	call(0, "drill").has("50 units: written in", "nothing else was written")
	call(1, "work").has("the restore is over")
	s.redis = "" // as on a machine that was told of SQL alone
	call(0, "status").has("session 1 of plan meter: done")
	call(0, "status", "--watch").has("it is over")
	call(1, "pause").has("the restore is over")
	call(1, "resume").has("the restore is over")
	call(2, "pace").has("--rate")
	call(1, "pace", "--rate", "100").has("the restore is over")
	for _, command := range []string{"cancel", "certificate", "assess", "verify", "undo", "work", "start"} {
		call(2, command).has("no redis; say it with --redis")
	}
}

// What reads JSON gets an object a line and nothing else, whatever becomes of a restore: the last one is how it is.
func TestRestoreInJSON(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 10)
	s.server.FlushAll()
	for _, words := range []string{"session 1 begins", "already complete, nothing done"} {
		last := s.json(words, "start")
		if session, ok := last["session"].(map[string]any); !ok || session["state"] != "done" {
			t.Errorf("%s: %v", words, last)
		}
	}
}

// watchWrites makes SQL refuse every write, and returns what wants that nothing was written, in Redis neither, and lets SQL be written
// again.
func watchWrites(t *testing.T, server *servicetest.RedisServer, dsn string) func() {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(u.Path, "/")
	readOnly := func(on string) {
		servicetest.Postgres(t).Exec(database, "ALTER DATABASE "+database+" SET default_transaction_read_only = "+on)
	}
	changes := func() string {
		return server.Info()["rdb_changes_since_last_save"]
	}
	readOnly("on")
	before := changes()
	return func() {
		t.Helper()
		if after := changes(); after != before || before == "" {
			t.Errorf("Redis was changed: %q, then %q", before, after)
		}
		servicetest.Postgres(t).Exec("postgres", "ALTER DATABASE "+database+" SET default_transaction_read_only = off")
	}
}
