package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
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
	says := func(text string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("does not say %q:\n%s", w, text)
			}
		}
	}
	says(call(0, "assess"), "intact", "nothing is to be restored")
	says(call(1, "status"), "reprise restore start")
	says(call(2, "start", "--plan", "other"), `no plan "other"`)
	says(call(2, "start", "--failure-time", "yesterday"), "2026-03-01T03:00:00Z")
	says(call(1, "start", "--failure-time", time.Now().Add(time.Hour).Format(time.RFC3339)), "time of failure")
	server.FlushAll()
	says(call(exitDifferent, "assess"), "empty", "50 units")
	says(call(exitDifferent, "start", "--dry-run"), "50 units")
	says(call(exitUnreadable, "verify"), "store init --new", "no store")
	says(call(0, "start", "--why", "Redis was emptied"), "session 1 begins", "complete, verified, and the gate is open")
	says(call(0, "start"), "already complete, nothing done")
	says(call(0, "status"), "session 1 of plan meter: done, begun by ann", "Redis was emptied", "50 of 50 units")
	says(call(0, "status", "--json"), `"State":"done"`)
	says(call(0, "verify"), "50 units, 50 lines: 0 differences")
	says(call(0, "assess"), "intact")
	says(call(0, "certificate"), "digest of what Redis holds now", "remaining_indiv_amount")
	says(call(0, "drill"), "50 units: written in", "nothing else was written")
	says(call(1, "work"), "the restore is over")
}
