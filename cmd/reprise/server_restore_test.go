package main

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/pipeline"
)

// What a person does at three in the morning: look, restore with one command, look at how it went, and prove it.
func TestRestoreCommands(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	redis, dsn := server.DSN(1), servicetest.Postgres(t).Database(t)
	ledger, err := meterledger.Open(ctx, dsn, meterledger.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ledger.Close()
	var lines []meterledger.Line
	for i := range 50 {
		lines = append(lines, meterledger.Line{ID: fmt.Sprintf("line-%d", i), Individual: 1000, QoS: 500})
	}
	if err := ledger.Import(ctx, nil, lines, []string{"video"}); err != nil {
		t.Fatal(err)
	}
	horizon := meter.Horizon{Retention: 7 * 24 * time.Hour, Tolerance: time.Hour, Ahead: meter.OpenAhead}
	keeper := &pipeline.Keeper{Ledger: ledger, Horizon: horizon}
	if _, err := keeper.OpenMonths(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Hydrate(ctx, pipeline.Hydration{Ledger: ledger, Redis: redis, Horizon: horizon, Who: "test", Why: "it begins"}); err != nil {
		t.Fatal(err)
	}
	call := func(want int, args ...string) string {
		t.Helper()
		var out, failure bytes.Buffer
		environ := []string{"REPRISE_METER_REDIS=" + redis, "REPRISE_METER_LEDGER=" + dsn, "REPRISE_METER_TAKE_OVER=1s", "USER=ann"}
		if code := run(ctx, append([]string{"restore"}, args...), process{Out: &out, Err: &failure, Environ: environ}); code != want {
			t.Errorf("%v: exit code %d, want %d\n%s%s", args, code, want, out.String(), failure.String())
		}
		return out.String() + failure.String()
	}
	conn, err := server.Dial(server.AdminDSN(1))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	byHand := func(words ...string) {
		t.Helper()
		if _, err := conn.Do(words...); err != nil {
			t.Fatal(err)
		}
	}
	says := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("does not say %q:\n%s", w, text)
			}
		}
	}
	unchanged := watchWrites(t, server, dsn)
	says(call(0, "assess"), "intact", "nothing is to be restored")
	says(call(1, "status"), "reprise restore start")
	says(call(0, "verify"), "all equal")
	says(call(0, "verify", "--correct", "--dry-run"), "all equal")
	says(call(0, "verify", "--sample", "0.5"), "all equal")
	says(call(0, "start", "--dry-run"), "intact")
	unchanged()
	says(call(2, "start", "--plan", "other"), `no plan "other"`)
	says(call(2, "start", "--failure-time", "yesterday"), "2026-03-01T03:00:00Z")
	says(call(1, "start", "--failure-time", time.Now().Add(time.Hour).Format(time.RFC3339)), "time of failure")
	server.FlushAll()
	says(call(exitDifferent, "assess"), "empty", "50 units")
	says(call(exitDifferent, "start", "--dry-run"), "50 units")
	says(call(exitUnreadable, "verify"), "no generation in all of its parts", "reprise restore assess")
	says(call(0, "start", "--why", "Redis was emptied"), "session 1 begins", "complete, verified, and the gate is open")
	says(call(0, "start"), "already complete, nothing done")
	says(call(0, "status"), "session 1 of plan meter: done, begun by ann", "Redis was emptied", "50 of 50 units")
	says(call(0, "status", "--json"), `"State":"done"`)
	says(call(0, "verify"), "all equal")
	says(call(0, "assess"), "intact")
	says(call(2, "verify", "--sample", "2"), "no part of the whole")
	says(call(1, "undo"), "no restore")
	key := "remaining_indiv_amount:" + meterredis.UnitBucket("line-7", "") + ":line-7:" + meter.Calendar{}.Month(time.Now()).String()
	byHand("HSET", key, "amount", "1001")
	byHand("SET", "version:{0001}:l:nobody", "1")
	unchanged = watchWrites(t, server, dsn)
	says(call(exitDifferent, "verify", "--correct", "--dry-run"), "different   "+key, `amount="1001"`, "extra       version:{0001}:l:nobody", "1 different, 1 extra")
	unchanged()
	says(call(0, "verify", "--correct"), "corrected   "+key, "2 corrected", "reprise restore undo 2")
	says(call(0, "verify"), "all equal")
	says(call(0, "undo"), "undone      "+key, "2 put back, 0 left")
	says(call(exitDifferent, "verify", "--patience", "1ms"), "1 different, 1 extra")
	says(call(0, "verify", "--correct", "--patience", "1ms"), "2 corrected")
	byHand("HSET", key, "amount", "999")
	says(call(exitSkipped, "undo"), "1 put back, 1 left")
	says(call(0, "verify", "--correct"), "2 corrected")
	says(call(2, "undo", "x"), "not the number of a session")
	says(call(0, "certificate"), "digest of what Redis holds now", "remaining_indiv_amount")
	says(call(0, "drill"), "50 units: written in", "nothing else was written")
	says(call(1, "work"), "the restore is over")
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
