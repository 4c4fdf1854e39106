package meterrestore

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/restore"
)

// A family amount without its family is a unit that cannot be restored: it is quarantined with the reason, stays closed, and keeps nobody else
// out. When SQL is right again, another restore brings it back.
func TestMissingFamilyIsQuarantined(t *testing.T) {
	t.Parallel()
	p := newPlant(t, servicetest.Postgres(t).Database(t), 12)
	stop := p.work()
	large := p.events(1)[0]
	large.Line, large.Bytes = "line-2", 20_100 // more than the line's own
	p.send([]meter.Event{large})
	p.send(p.events(40))
	if _, err := p.ledger.Fold(t.Context(), meterledger.FoldOptions{}); err != nil {
		t.Fatal(err)
	}
	stop()
	p.server.FlushAll()
	p.sql("UPDATE reprise.meter_monthly_snapshot SET family = '' WHERE line = 'line-2'")

	sessions := p.sessions()
	r := p.runner(sessions, "one")
	_, _, err := r.Start(t.Context(), restore.Request{Who: "test", Why: "Redis was emptied"})
	p.must(err)
	done, err := r.Work(t.Context())
	if err != nil || done.State != restore.Finished {
		t.Fatalf("%+v, %v", done, err)
	}
	bad, err := sessions.Quarantined(t.Context(), done.ID, 0, 100)
	if err != nil || len(bad) == 0 || !strings.Contains(bad[0].Reason, string(meter.MissingFamily)) || !strings.HasPrefix(bad[0].From, "f:family-0") {
		t.Errorf("%+v, %v", bad, err)
	}
	progress, err := sessions.Progress(t.Context(), done.ID)
	if err != nil || progress.Findings[restore.Quarantined] == 0 || len(progress.Findings) != 1 {
		t.Errorf("%+v, %v", progress.Findings, err)
	}
	_, err = p.meter.Reread(t.Context())
	p.must(err)
	p.stillQuarantined(r)
	event := p.events(1)[0]
	event.Line = "line-2"
	if _, err := p.meter.Deduct(t.Context(), meterredis.Delivery{Event: event, Family: "family-0"}); !errors.Is(err, meter.UnitNotHydrated) && !errors.Is(err, meter.UnitClosed) {
		t.Errorf("a quarantined unit decides: %v", err)
	}
	defer p.work()()
	others := p.events(30)
	for i := range others {
		others[i].Line = "line-1"
	}
	p.send(others)

	p.sql("UPDATE reprise.meter_monthly_snapshot SET family = 'family-0' WHERE line = 'line-2'")
	_, _, err = r.Start(t.Context(), restore.Request{Who: "test", Why: "SQL is right again", Again: true})
	p.must(err)
	if done, err = r.Work(t.Context()); err != nil || done.State != restore.Finished {
		t.Fatalf("%+v, %v", done, err)
	}
	p.send([]meter.Event{event})
	p.audit()
}

// stillQuarantined checks that a verification outside of a session, which must not put right what cannot be, and a drill say of the
// family what the restore said, and nothing of any other unit.
func (p *plant) stillQuarantined(r *restore.Runner) {
	p.t.Helper()
	of := func(what string, f restore.Finding) {
		if f.Outcome != restore.Quarantined || !strings.Contains(f.Detail, "unit f:family-0 cannot be restored") || !strings.Contains(f.Detail, string(meter.MissingFamily)) {
			p.t.Errorf("%s: %+v", what, f)
		}
	}
	checked, err := r.Check(p.t.Context(), restore.CheckRequest{Who: "test", Why: "to see", Correct: true, Found: func(f restore.Finding) { of("verify", f) }})
	if err != nil || checked.Findings[restore.Quarantined] == 0 {
		p.t.Errorf("%+v, %v", checked, err)
	}
	drilled, err := p.plan().Drill(p.t.Context())
	if err != nil || len(drilled.Findings) == 0 || drilled.Units != 9 {
		p.t.Errorf("%+v, %v", drilled, err)
	}
	for _, f := range drilled.Findings {
		of("drill", f)
	}
}

// sql changes the ledger behind everybody's back.
func (p *plant) sql(text string) {
	p.t.Helper()
	database := p.dsn[strings.LastIndexByte(p.dsn, '/')+1:]
	database, _, _ = strings.Cut(database, "?")
	servicetest.Postgres(p.t).Exec(database, text)
}
