package meterrestore

import (
	"errors"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/restore"
)

// as returns the plan of a user of Redis who has all rights, and what gives him another rule.
func (p *plant) as(user string) (plan *Plan, rule func(rules ...string)) {
	admin := p.conn()
	rule = func(rules ...string) { admin.do(append([]string{"ACL", "SETUSER", user}, rules...)...) }
	rule("on", ">hunter2", "~*", "&*", "+@all")
	plan = p.plan()
	_, at, _ := strings.Cut(p.server.DSN(1), "@")
	plan.Redis = "redis://" + user + ":hunter2@" + at
	p.t.Cleanup(plan.Close)
	return plan, rule
}

// A right that is taken away while keys are compared or put right says nothing of them: nothing is split or quarantined for that, and who
// verifies is not told that all of it is wrong.
func TestRightsToLook(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		plan, rule := p.as("looks")
		fence := restore.Fence{Session: 1, Epoch: 1, Generation: string(p.meter.Generation())}
		p.must(plan.CloseGate(t.Context(), fence))
		p.must(plan.WriteFence(t.Context(), fence))
		everything := restore.Target{To: otherGlobals, Units: 20}
		if _, _, err := plan.Verify(t.Context(), everything, fence); err != nil {
			t.Fatal(err)
		}
		unit := restore.Finding{Kind: kindKey, Item: p.conn().do("KEYS", "unit:*").([]any)[0].(string)}
		for right, use := range map[string]func() error{
			"hgetall": func() error { _, _, err := plan.Verify(t.Context(), everything, fence); return err },
			"scan": func() error {
				_, _, err := plan.Verify(t.Context(), restore.Target{From: otherSweep, Units: 1}, fence)
				return err
			},
			"dump": func() error { _, err := plan.Correct(t.Context(), unit, fence, nil); return err },
			"get":  func() error { _, err := plan.Generation(t.Context()); return err },
		} {
			rule("-" + right)
			if err := use(); !errors.Is(err, restore.ErrRefused) {
				t.Errorf("without %s: %v", right, err)
			}
			rule("+" + right)
		}
		rule("-hgetall")
		r := restore.New(p.sessions(), plan, restore.Options{Name: "looks"})
		if _, err := r.Check(t.Context(), restore.CheckRequest{}); !errors.Is(err, restore.ErrRefused) {
			t.Errorf("verified: %v", err)
		}
	})
}
