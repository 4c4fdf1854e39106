package ledgertest

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/store"
)

// Without tables nothing is opened; processes that make them at once make them once; again it does nothing.
func testSchema(t *testing.T, server Server) {
	dsn := server(t)
	if _, err := meterledger.Open(t.Context(), dsn, meterledger.Options{}); !errors.Is(err, store.ErrSchema) {
		t.Fatalf("opened without tables: %v", err)
	}
	before, err := meterledger.Status(t.Context(), dsn)
	if err != nil || !before.Pending() || before.Version != 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			status, err := meterledger.Migrate(t.Context(), dsn)
			if err != nil || status.Pending() {
				t.Errorf("%+v, %v", status, err)
			}
		})
	}
	running.Wait()
	after, err := meterledger.Status(t.Context(), dsn)
	if err != nil || after.Pending() || after.Version != after.Latest {
		t.Fatalf("%+v, %v", after, err)
	}
	l, err := meterledger.Open(t.Context(), dsn, meterledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if now, err := l.Now(t.Context()); err != nil || now.Year() < 2020 {
		t.Error(now, err)
	}
}

func testLines(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	lines, err := w.Lines(ctx, []string{"ann", "cas", "nobody"})
	want := map[string]meterledger.Line{"ann": {ID: "ann", Family: "fam", Individual: 100, QoS: 50}, "cas": {ID: "cas", Individual: 100, QoS: 50}}
	if d := cmp.Diff(want, lines); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	families, err := w.Families(ctx, []string{"fam", "none"})
	if d := cmp.Diff(map[string]meterledger.Family{"fam": {ID: "fam", Shared: 1000}}, families); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	odd := []string{"", "a\x00b", "\xff", "a b", strings.Repeat("a", 200)} // nobody can be called so, and nothing is wrong with the server
	lines, err = w.Lines(ctx, append(odd, "cas"))
	families, failure := w.Families(ctx, append(odd, "fam"))
	if len(lines) != 1 || len(families) != 1 || err != nil || failure != nil {
		t.Errorf("%v, %v, %v, %v", lines, err, families, failure)
	}
	if apps, err := w.Apps(ctx); cmp.Diff([]string{"chat", "video"}, apps) != "" || err != nil {
		t.Error(apps, err)
	}
	// A repetition sets plans, and nothing else.
	w.must(w.Import(ctx, []meterledger.Family{{ID: "fam", Shared: 7}}, []meterledger.Line{{ID: "ann", Family: "fam", Individual: 8, QoS: 9}}, []string{"video"}))
	lines, _ = w.Lines(ctx, []string{"ann"})
	families, _ = w.Families(ctx, []string{"fam"})
	if lines["ann"] != (meterledger.Line{ID: "ann", Family: "fam", Individual: 8, QoS: 9}) || families["fam"].Shared != 7 {
		t.Error(lines, families)
	}
	if c, err := w.Counts(ctx); err != nil || c != (meterledger.Counts{Lines: 4, Families: 2, Apps: 2, LoneLines: 1}) {
		t.Errorf("%+v, %v", c, err)
	}
	for name, c := range map[string]struct {
		line meterledger.Line
		want error
	}{
		"another family":  {meterledger.Line{ID: "ann", Family: "kin"}, meterledger.ErrConflict},
		"no family":       {meterledger.Line{ID: "ann"}, meterledger.ErrConflict},
		"a family now":    {meterledger.Line{ID: "cas", Family: "kin"}, meterledger.ErrConflict},
		"no such family":  {meterledger.Line{ID: "eve", Family: "none"}, meterledger.ErrUnknown},
		"a negative plan": {meterledger.Line{ID: "eve", QoS: -1}, meter.BadGrant},
		"no id":           {meterledger.Line{}, meter.BadID},
		"no id, family":   {meterledger.Line{ID: "eve", Family: "a/b"}, meter.BadID},
	} {
		if err := w.Import(ctx, nil, []meterledger.Line{{ID: "new-" + "x"}, c.line}, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if lines, _ := w.Lines(ctx, []string{"new-x", "eve"}); len(lines) > 0 {
		t.Errorf("of an import that was refused there is %v", lines)
	}
	if all, err := w.History(ctx, "ann"); err != nil || len(all) != 1 || all[0].Family != "fam" || !all[0].Until.IsZero() || all[0].From.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}

// Because a loose order of text would take two lines for one: ids that only such an order holds for equal are different.
func testBytes(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	w.must(w.Import(ctx, []meterledger.Family{{ID: "FAM", Shared: 1}}, []meterledger.Line{{ID: "ANN", Family: "FAM", Individual: 1}, {ID: "a-nn"}, {ID: "a.nn"}}, []string{"VIDEO"}))
	lines, err := w.Lines(ctx, []string{"ann", "ANN", "Ann"})
	if err != nil || len(lines) != 2 || lines["ANN"].Family != "FAM" || lines["ann"].Family != "fam" {
		t.Errorf("%v, %v", lines, err)
	}
	row := w.use("cas", "video", 1, noon)
	other := row
	other.Event.ID = "E-1"
	other.Result.LineVersion++
	w.append(row, other)
	found, err := w.LookupDone(ctx, []meterledger.Identity{{Line: "cas", Event: "e-1"}, {Line: "cas", Event: "E-1"}, {Line: "CAS", Event: "e-1"}})
	if err != nil || len(found) != 2 {
		t.Errorf("%v, %v", found, err)
	}
	hostile := row
	hostile.Event.ID = `'"\;--?$1/*{}]%00\'`
	hostile.Result.LineVersion += 2
	w.append(hostile)
	id := meterledger.Identity{Line: "cas", Event: hostile.Event.ID}
	if found, err = w.LookupDone(ctx, []meterledger.Identity{id}); err != nil || found[id].Row != hostile {
		t.Errorf("%v, %v", found, err)
	}
	w.must(w.PutInbox(ctx, []meter.Event{hostile.Event}))
	if taken, err := w.TakeInbox(ctx, "worker", 1, time.Minute); err != nil || len(taken) != 1 || taken[0].Text != string(hostile.Event.AppendJSON(nil)) {
		t.Errorf("%+v, %v", taken, err)
	}
	w.fold()
	w.audited()
	held, err := w.Read(ctx, meterledger.Unit("f:fam"), meterledger.Horizon{Months: meter.Span{First: march, Last: meter.LastMonth}, Day: 20260301})
	if err != nil || len(held.Source.Members) != 2 || len(held.Families) != 1 {
		t.Errorf("%v, %v, %v", held.Source.Members, held.Families, err)
	}
}

func testPolicies(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	all, err := w.Policies(ctx, []string{"ann", "bob"})
	w.must(err)
	if missing := all.Global.Missing(); len(missing) > 0 || all.Global.Get(meter.Gate).Text() != "open=no" || len(all.Lines) > 0 {
		t.Errorf("at the beginning %v are missing, the gate is %q, of lines there are %v", missing, all.Global.Get(meter.Gate).Text(), all.Lines)
	}
	open := []meter.Field{{Name: "open", Value: "yes"}}
	p, err := w.PutPolicy(ctx, "", meter.Gate, 1, open, "me")
	if err != nil || p.Version() != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := w.PutPolicy(ctx, "", meter.Gate, 1, open, "me"); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	if _, err := w.PutPolicy(ctx, "", meter.Gate, 1, open, "somebody else"); !errors.Is(err, meterledger.ErrConflict) {
		t.Errorf("an old version was seen: %v", err)
	}
	limit := []meter.Field{{Name: "cap:*", Value: "9223372036854775807"}, {Name: "cap:video", Value: "none"}}
	if _, err = w.PutPolicy(ctx, "ann", meter.AppCap, 0, limit, "me"); err != nil {
		t.Error(err)
	}
	for line, c := range map[string]struct {
		id     meter.PolicyID
		fields []meter.Field
		want   error
	}{
		"nobody": {meter.LineCap, nil, meterledger.ErrUnknown},
		"ann":    {meter.Gate, open, meter.WrongType},
	} {
		if _, err := w.PutPolicy(ctx, line, c.id, 0, c.fields, "me"); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", line, err)
		}
	}
	all, err = w.Policies(ctx, []string{"ann", "bob"})
	w.must(err)
	if all.Global.Get(meter.Gate).Version() != 2 || all.Lines["ann"].Get(meter.AppCap).Text() != "cap:*=9223372036854775807;cap:video=none" || len(all.Lines) != 1 {
		t.Errorf("%+v", all)
	}
	// Of many who saw the same version, one puts the next.
	var running sync.WaitGroup
	won := make(chan string, 8)
	for _, who := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		running.Go(func() {
			if _, err := w.PutPolicy(ctx, "", meter.LineCap, 1, []meter.Field{{Name: "cap", Value: "5"}}, who); err == nil {
				won <- who
			} else if !errors.Is(err, meterledger.ErrConflict) {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if len(won) != 1 {
		t.Errorf("%d of 8 have put version 2", len(won))
	}
}
