package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
)

func topUp(id, line, family string, amount int64) meter.Grant {
	g := meter.Grant{ID: id, Kind: meter.TopUp, Line: line, Family: family, Month: march}
	if family != "" {
		g.Shared = amount
	} else {
		g.Individual = amount
	}
	return g
}

func testGrants(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	for _, g := range []meter.Grant{topUp("t1", "ann", "", 5), topUp("t2", "", "fam", 5), topUp("t3", "ann", "", 5)} {
		if already, err := w.AddGrant(ctx, g); already || err != nil {
			t.Fatalf("%s: %v, %v", g.ID, already, err)
		}
		if already, err := w.AddGrant(ctx, g); !already || err != nil {
			t.Errorf("again, %s: %v, %v", g.ID, already, err)
		}
	}
	for name, c := range map[string]struct {
		grant meter.Grant
		want  error
	}{
		"other content":   {topUp("t1", "ann", "", 6), meterledger.ErrConflict},
		"another owner":   {topUp("t1", "bob", "", 5), meterledger.ErrConflict},
		"no such line":    {topUp("t9", "nobody", "", 5), meterledger.ErrUnknown},
		"no such family":  {topUp("t9", "", "none", 5), meterledger.ErrUnknown},
		"a second month":  {meter.Grant{ID: "m9", Line: "ann", Month: march, Individual: 1}, meter.GrantedTwice},
		"more than there": {topUp("t9", "ann", "", meter.MaxAmount), meter.Overflow},
		"of nothing":      {topUp("t9", "ann", "", 0), meter.BadGrant},
	} {
		if _, err := w.AddGrant(ctx, c.grant); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	// Whoever gets there first, the sum stays an amount.
	var running sync.WaitGroup
	var mu sync.Mutex
	added := 0
	for i := range 8 {
		running.Go(func() {
			_, err := w.AddGrant(ctx, topUp(fmt.Sprintf("half-%d", i), "bob", "", meter.MaxAmount/3))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				added++
			} else if !errors.Is(err, meter.Overflow) {
				t.Error(err)
			}
		})
	}
	running.Wait()
	if added != 2 {
		t.Errorf("%d thirds were added to what was there", added)
	}
}

func testConfirmations(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	for _, g := range []meter.Grant{topUp("t1", "ann", "", 5), topUp("t2", "", "fam", 5), topUp("t3", "bob", "", 5)} {
		_, err := w.AddGrant(ctx, g)
		w.must(err)
	}
	changes := func() meterledger.Changes {
		all, err := w.Changes(ctx, generation, []string{"l:ann"}, meter.Span{})
		w.must(err)
		return all["l:ann"]
	}
	if c := changes(); c != (meterledger.Changes{Count: 1, Highest: 1, Unconfirmed: 1}) {
		t.Errorf("%+v", c)
	}
	for range 2 {
		w.must(w.ConfirmGrants(ctx, generation, []meterledger.Confirmation{{Grant: "t1", Version: 2}, {Grant: "t2", Version: 2}}))
	}
	if c := changes(); c != (meterledger.Changes{Count: 2, Highest: 2}) || !c.GapFree() {
		t.Errorf("%+v", c)
	}
	for name, c := range map[string]struct {
		generation meter.Generation
		one        meterledger.Confirmation
		want       error
	}{
		"another version":     {generation, meterledger.Confirmation{Grant: "t1", Version: 3}, meterledger.ErrConflict},
		"another generation":  {"b2", meterledger.Confirmation{Grant: "t3", Version: 1}, meterledger.ErrOldGeneration},
		"a grant of nobody":   {generation, meterledger.Confirmation{Grant: "t9", Version: 1}, meterledger.ErrUnknown},
		"one that is another": {generation, meterledger.Confirmation{Grant: "T1", Version: 2}, meterledger.ErrUnknown},
	} {
		if err := w.ConfirmGrants(ctx, c.generation, []meterledger.Confirmation{{Grant: "t3", Version: 2}, c.one}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	many := slices.Repeat([]meterledger.Confirmation{{Grant: "t3", Version: 2}}, meterledger.MaxBatch) // more than fit into a message
	if err := w.ConfirmGrants(ctx, generation, append(many, meterledger.Confirmation{Grant: "t9"})); !errors.Is(err, meterledger.ErrUnknown) {
		t.Errorf("the last of many is a grant of nobody: %v", err)
	}
	left, err := w.UnconfirmedGrants(ctx, march, "", 10)
	if err != nil || len(left) != 1 || left[0].ID != "t3" || left[0].Grant != topUp("t3", "bob", "", 5) || left[0].Confirmed() || left[0].MadeAt.IsZero() {
		t.Errorf("of what was refused something is left: %+v, %v", left, err)
	}
	if more, err := w.UnconfirmedGrants(ctx, march, "t3", 10); err != nil || len(more) > 0 {
		t.Errorf("%+v, %v", more, err)
	}
	// A grant that hydration had counted makes no change, and one that was confirmed before stays as it was.
	w.must(w.NewGeneration(ctx, generation, "b2", "suite", "lost"))
	w.must(w.ConfirmGrants(ctx, "b2", append(slices.Repeat([]meterledger.Confirmation{{Grant: "t1"}}, meterledger.MaxBatch), meterledger.Confirmation{Grant: "t3"})))
	all, err := w.Changes(ctx, "b2", []string{"l:ann", "l:bob"}, meter.Span{})
	if err != nil || all["l:ann"] != (meterledger.Changes{}) || all["l:bob"] != (meterledger.Changes{}) {
		t.Errorf("%+v, %v", all, err)
	}
	if c := changes(); c != (meterledger.Changes{Count: 2, Highest: 2}) {
		t.Errorf("%+v", c)
	}
}

func testMonths(t *testing.T, server Server) {
	w := newWorld(t, server)
	ctx := t.Context()
	if made, err := w.OpenMonth(ctx, march); made != 0 || err != nil {
		t.Errorf("a month that is open: %d, %v", made, err)
	}
	// Who has a grant of the month already gets the monthly one all the same, and who is new as well.
	g := topUp("early", "ann", "", 5)
	g.Month = 202604
	_, err := w.AddGrant(ctx, g)
	w.must(err)
	// Who has nearly all that there can be gets what is left of the plan, and keeps nobody else waiting.
	for id, amount := range map[string]int64{"most": meter.MaxAmount - 30, "a-bit": 7} {
		g = topUp(id, "cas", "", amount)
		g.Month = 202604
		_, err = w.AddGrant(ctx, g)
		w.must(err)
	}
	_, err = w.AddGrant(ctx, meter.Grant{ID: "by hand", Line: "bob", Month: 202604, Individual: 1})
	if !errors.Is(err, meter.BadID) {
		t.Errorf("%v", err)
	}
	_, err = w.AddGrant(ctx, meter.Grant{ID: "by-hand", Line: "bob", Month: 202604, Individual: 1})
	w.must(err)
	w.must(w.Import(ctx, nil, []meterledger.Line{{ID: "eve", Individual: 3}}, nil))
	if made, err := w.OpenMonth(ctx, 202604); made != 6 || err != nil { // all but bob
		t.Errorf("%d, %v", made, err)
	}
	w.must(w.Import(ctx, nil, []meterledger.Line{{ID: "fay", Individual: 3}}, nil))
	if made, err := w.OpenMonth(ctx, 202604); made != 1 || err != nil {
		t.Errorf("%d, %v", made, err)
	}
	w.must(w.Import(ctx, nil, []meterledger.Line{{ID: "gil", Individual: 3, QoS: 2}}, nil))
	for line, want := range map[string]string{"gil": "monthly:202604:l:gil", "fay": "monthly:202604:l:fay", "bob": "by-hand"} {
		for range 2 {
			if id, err := w.OpenMonthOf(ctx, line, 202604); id != want || err != nil {
				t.Errorf("%s: %q, %v", line, id, err)
			}
		}
	}
	if g, err := w.Grant(ctx, "monthly:202604:l:gil"); err != nil || g.Line != "gil" || g.Individual != 3 || g.QoS != 2 || g.Confirmed() {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := w.Grant(ctx, "none"); !errors.Is(err, meterledger.ErrUnknown) {
		t.Error(err)
	}
	if _, err := w.OpenMonthOf(ctx, "nobody", 202604); !errors.Is(err, meterledger.ErrUnknown) {
		t.Error(err)
	}
	if _, err := w.OpenMonth(ctx, 202613); !errors.Is(err, meter.BadGrant) {
		t.Error(err)
	}
	a, err := w.Audit(ctx, everything())
	w.must(err)
	for owner, want := range map[string]string{
		"l:ann": "individual 105, qos 50, shared 0", "l:bob": "individual 1, qos 0, shared 0", "f:kin": "individual 0, qos 0, shared 1000", "l:cas": "individual 9223372036854775807, qos 50, shared 0", "l:fay": "individual 3, qos 0, shared 0",
	} {
		if got := a.Granted[meterledger.Account{Owner: owner, Month: 202604}].String(); got != want {
			t.Errorf("%s: %s, want %s", owner, got, want)
		}
	}
}

// Processes that open a month at once make each grant once.
func testMonthsInParallel(t *testing.T, server Server) {
	w := emptyWorld(t, server)
	lines := make([]meterledger.Line, 2500)
	for i := range lines {
		lines[i] = meterledger.Line{ID: fmt.Sprintf("line-%d", i), Individual: 1}
	}
	w.must(w.Import(t.Context(), nil, lines, nil))
	made := make(chan int64, 3)
	var running sync.WaitGroup
	for range cap(made) {
		running.Go(func() {
			n, err := w.OpenMonth(t.Context(), march)
			if err != nil {
				t.Error(err)
			}
			made <- n
		})
	}
	running.Wait()
	close(made)
	sum := int64(0)
	for n := range made {
		sum += n
	}
	if c, err := w.Counts(t.Context()); sum != 2500 || err != nil || c.Unconfirmed != 2500 {
		t.Errorf("%d were made, %+v, %v", sum, c, err)
	}
}
