package main

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/meter/meterrestore"
	"github.com/reprise-dev/reprise/restore"
)

// A certificate is of what was verified, and is there: not of a restore that was not complete, or was undone, or whose generation is gone.
func TestCertificate(t *testing.T) {
	t.Parallel()
	s, ctx := newRestoreSite(t, 20), t.Context()
	const equal = "verification: all equal"
	refused := func(want int, number string, why ...string) {
		t.Helper()
		said := s.call(want, "certificate", number)
		said.has(why...)
		if strings.Contains(said.text, equal) || strings.Contains(said.text, "0001-01-01") {
			t.Errorf("certified:\n%s", said.text)
		}
	}
	s.server.FlushAll()
	s.call(0, "start")
	s.call(0, "certificate").has(equal)

	sessions, err := restore.Open(ctx, s.dsn, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sessions.Close() })
	plan := meterrestore.New(meterrestore.Options{Ledger: s.ledger, Redis: s.redis, Horizon: s.horizon, Who: "test", Why: "test"})
	t.Cleanup(plan.Close)
	if _, _, err := restore.New(sessions, plan, restore.Options{}).Start(ctx, restore.Request{Who: "test", Why: "test", Again: true}); err != nil {
		t.Fatal(err)
	}
	refused(exitSkipped, "2", "session 2 is closing, and not complete")
	s.call(0, "pause")
	refused(exitSkipped, "2", "session 2 is closing, and not complete")
	s.call(0, "cancel")
	refused(exitSkipped, "2", "session 2 is cancelled, and not complete")
	s.call(0, "verify", "--correct")
	refused(exitSkipped, "3", "session 3 has verified, and restored nothing")
	s.call(0, "certificate", "1").has(equal)

	// As if something had been corrected in the first of two rounds, and then undone.
	at, err := url.Parse(s.dsn)
	if err != nil {
		t.Fatal(err)
	}
	database := strings.TrimPrefix(at.Path, "/")
	postgres := servicetest.Postgres(t)
	postgres.Exec(database, "UPDATE reprise.restore_sessions SET round = 2 WHERE id = 1")
	postgres.Exec(database, "INSERT INTO reprise.restore_findings (session, round, target, kind, item, outcome, detail, found_at, settled_at) VALUES (1, 1, 1, 'key', 'a', 'undone', '', 1, 1)")
	refused(exitDifferent, "1", "verification: 1 undone")
	postgres.Exec(database, "DELETE FROM reprise.restore_findings")
	s.call(0, "certificate", "1").has(equal)

	// SQL goes on with another generation, as when somebody has begun to restore again.
	now, err := s.ledger.Generation(ctx)
	if err == nil {
		err = s.ledger.NewGeneration(ctx, now, "00112233445566778899aabbccddeeff", "test", "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(exitDifferent, "1", "session 1 has made generation", "SQL believes in", "nothing is certified")
	s.call(0, "start")
	refused(exitDifferent, "1", "session 1 has made generation", "nothing is certified")
	s.call(0, "certificate", "4").has(equal)
}

// The digest is of what Redis holds: with one balance that is another it is another one, and it is what it was when that is put right.
func TestTheDigestOfACertificateChangesWithABalance(t *testing.T) {
	t.Parallel()
	s := newRestoreSite(t, 20)
	s.server.FlushAll()
	s.call(0, "start")
	digest := func() string {
		t.Helper()
		_, after, found := strings.Cut(s.call(0, "certificate").text, "digest of what Redis holds now")
		line, _, _ := strings.Cut(after, "\n")
		if !found || len(line) < 64 {
			t.Fatalf("no digest: %q", after)
		}
		return line
	}
	before := digest()
	key := "remaining_indiv_amount:" + meterredis.UnitBucket("line-7", "") + ":line-7:" + meter.Calendar{}.Month(time.Now()).String()
	s.do("HSET", key, "amount", "1001")
	if damaged := digest(); damaged == before {
		t.Errorf("a balance is another, and the digest is still %s", damaged)
	}
	s.call(0, "verify", "--correct").has("corrected   " + key)
	if after := digest(); after != before {
		t.Errorf("it was %s, and put right it is %s", before, after)
	}
}

// A unit that SQL contradicts itself about is exit code 8 of whatever restores or verifies, and with a difference elsewhere it is 8 and 4 together,
// as processes end with it.
func TestExitCodesOfQuarantine(t *testing.T) {
	t.Parallel()
	postgres, server := servicetest.Postgres(t), servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	s := &restoreSite{t: t, server: server, redis: server.DSN(1), dsn: postgres.DSN(newTruth(t, postgres, 40))}
	s.connect()
	execute(t, s.dsn, "UPDATE reprise.meter_monthly_snapshot SET family = '' WHERE line = 'line-0000002'")
	ends := func(want int, args ...string) {
		t.Helper()
		cmd := s.process(args...)
		if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != want { // an exit code is an error, too
			t.Errorf("%v: %v, want %d", args, cmd.ProcessState, want)
		}
	}
	ends(exitQuarantined, "start")
	ends(exitQuarantined, "verify", "--patience", "1ms")
	s.do("HSET", "remaining_indiv_amount:"+meterredis.UnitBucket("line-0000007", "")+":line-0000007:"+meter.Calendar{}.Month(time.Now()).String(), "amount", "1")
	ends(exitQuarantined|exitDifferent, "verify", "--patience", "1ms")
	ends(exitQuarantined, "verify", "--patience", "1ms", "--correct")
}
