package meterrestore

import (
	"errors"
	"strings"
	"testing"
	"time"

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

// Who may do nothing but say who he is, and is given what Ready asks for, one answer after the other, can restore and put right whatever is damaged:
// so it asks for all that a restore needs, before the gate is closed.
func TestRightsAreAskedForBefore(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 20)
		plan, rule := p.as("new")
		rule("resetkeys", "-@all", "+@connection", "+role")
		asked := 0
		for err := plan.Ready(t.Context()); err != nil; err = plan.Ready(t.Context()) {
			rules, ok := "", errors.Is(err, restore.ErrRefused)
			if ok {
				_, rules, ok = strings.Cut(err.Error(), "ACL SETUSER new ")
			}
			rules, _, on := strings.Cut(rules, ", on "+p.server.Addr())
			if asked++; !ok || !on || asked > 10 {
				t.Fatalf("the %dth answer: %v", asked, err)
			}
			rule(strings.Fields(rules)...)
		}
		plan.forget() // which was open while it was given more
		plan.Patience = time.Millisecond
		sessions := p.sessions()
		done := p.restored(restore.New(sessions, plan, restore.Options{Name: "new"}))
		if done.State != restore.Finished {
			t.Fatalf("%+v", done)
		}
		c := p.conn()
		hash, text := c.do("KEYS", "remaining_indiv_amount:*").([]any)[0].(string), c.do("KEYS", "version:*").([]any)[0].(string)
		c.do("HSET", hash, "amount", "7")
		c.do("SET", text, "x")
		c.do("SET", "unit:{0000}:nobody's", "x")
		for _, key := range c.do("KEYS", "intake:*").([]any) {
			c.do("PEXPIRE", key.(string), "5000000")
		}
		found, checked := p.check(restore.New(sessions, plan, restore.Options{Name: "new"}), true)
		for item, outcome := range found {
			if outcome != restore.Corrected {
				t.Errorf("%s is %s", item, outcome)
			}
		}
		if len(found) < 4 || checked.Findings[restore.Corrected] != int64(len(found)) {
			t.Errorf("found %v, %+v", found, checked)
		}
	})
}

// A right that is missing is found out before the session begins: nothing is closed, and what to grant is said.
func TestMissingRightsCloseNothing(t *testing.T) {
	t.Parallel()
	eachLedger(t, "postgres", func(t *testing.T, dsn string) {
		p := newPlant(t, dsn, 12)
		plan, rule := p.as("less")
		sessions := p.sessions()
		r := restore.New(sessions, plan, restore.Options{Name: "less"})
		for _, c := range []struct{ less, more, says, grant string }{
			{"-hset", "+hset", "may not use HSET", "ACL SETUSER less +hset"},
			{"-script|load", "+script", "may not use SCRIPT LOAD", "+script|load"},
			{"-multi", "+multi", "may not use MULTI", "+multi"},
			{"-exec", "+exec", "may not use EXEC", "+exec"},
		} {
			rule(c.less)
			_, _, err := r.Start(t.Context(), restore.Request{Who: "test", Why: "a test", Again: true})
			if !errors.Is(err, restore.ErrRefused) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.grant) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", c.less, err)
			}
			rule(c.more)
		}
		rule("resetkeys", "~meter:*", "~unit:*", "%R~version:*", "-unlink")
		_, _, err := r.Start(t.Context(), restore.Request{Who: "test", Why: "a test", Again: true})
		if !errors.Is(err, restore.ErrRefused) || !strings.Contains(err.Error(), " the keys policy:*, ") || !strings.Contains(err.Error(), " ~version:*") || strings.Contains(err.Error(), "~unit:*") || strings.Contains(err.Error(), "UNLINK") {
			t.Errorf("without names: %v", err)
		}
		if _, err := plan.Drill(t.Context()); !errors.Is(err, restore.ErrRefused) || !strings.Contains(err.Error(), "SETUSER less +unlink ~shadow:*") {
			t.Errorf("drilled: %v", err)
		}
		if last, err := sessions.Last(t.Context(), name); !errors.Is(err, restore.ErrNone) {
			t.Errorf("there is a session: %+v, %v", last, err)
		}
		if err := p.meter.GateOpen(t.Context()); err != nil {
			t.Errorf("the gate: %v", err)
		}
		p.server.Kill()
		if err := plan.Ready(t.Context()); err != nil {
			t.Errorf("of a Redis that is not there: %v", err)
		}
	})
}
