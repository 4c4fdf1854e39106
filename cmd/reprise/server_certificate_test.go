package main

import (
	"net/url"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
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
