package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/reprise-dev/reprise/restore"
)

// process starts `reprise restore` in a process of its own. Its output is nobody's.
func (s *restoreSite) process(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"restore"}, args...)...)
	cmd.Env = programEnv("USER=ann", "REPRISE_METER_REDIS="+s.redis, "REPRISE_METER_LEDGER="+s.dsn, "REPRISE_METER_TAKE_OVER=1s")
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// killed kills a process that `process` has started. One that was gone by itself is a fault: nothing was killed then.
func (s *restoreSite) killed(cmd *exec.Cmd) {
	s.t.Helper()
	_ = cmd.Process.Kill() // how it ended says whether it still was there
	_ = cmd.Wait()
	if ended, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ended.Signal() != syscall.SIGKILL {
		s.t.Errorf("%v was not killed: it had ended with %v", cmd.Args[1:], cmd.ProcessState)
	}
}

// expire lets the leases of those end that were killed, as time does.
func (s *restoreSite) expire() {
	s.t.Helper()
	execute(s.t, s.dsn, "UPDATE reprise.restore_sessions SET lease_until = 0 WHERE finished_at = 0")
	execute(s.t, s.dsn, "UPDATE reprise.restore_targets SET available_at = 0 WHERE state IN ('processing', 'retryable')")
}

// watch returns what says how far the last restore is; nil while nobody can tell.
func (s *restoreSite) watch() func() *restore.Progress {
	s.t.Helper()
	sessions, err := restore.Open(s.t.Context(), s.dsn, 2)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = sessions.Close() }) // which was only read
	return func() *restore.Progress {
		last, err := sessions.Last(s.t.Context(), planName)
		if err != nil {
			return nil
		}
		progress, err := sessions.Progress(s.t.Context(), last.ID)
		if err != nil {
			return nil
		}
		return &progress
	}
}

// crew are processes that restore together, with a worker each. What happens to them happens at a progress, and not at a time.
type crew struct {
	*restoreSite
	look  func() *restore.Progress
	alive []*exec.Cmd
	kills int
}

func crewOf(s *restoreSite) *crew {
	s.t.Helper()
	c := &crew{restoreSite: s, look: s.watch()}
	s.t.Cleanup(func() {
		for _, cmd := range c.alive {
			_ = cmd.Process.Kill() // it may have come to its end
			_ = cmd.Wait()
		}
	})
	return c
}

// begin begins a restore with so many processes, or goes on with it.
func (c *crew) begin(processes int, args ...string) {
	c.t.Helper()
	c.join("start", args...)
	eventually(c.t, "the restore begins", func() bool { return c.look() != nil })
	for len(c.alive) < processes {
		c.join("work", args...)
	}
}

// slow lets a restore go slowly enough to be disturbed, a target at a time.
func (c *crew) slow(rate string) {
	c.t.Helper()
	c.call(0, "pace", "--rate", rate, "--batch", "1")
}

func (c *crew) join(verb string, args ...string) {
	c.alive = append(c.alive, c.process(append([]string{verb, "--workers", "1"}, args...)...))
}

// nameOf is the name under which a process works.
func (c *crew) nameOf(cmd *exec.Cmd) string {
	host, _ := os.Hostname() // as in processName
	return host + "/" + strconv.Itoa(cmd.Process.Pid)
}

// until waits until the restore has lost Redis so often, and done so many hundredths since of all that it does: phases and verification.
func (c *crew) until(losses int, hundredths int64) {
	c.t.Helper()
	c.eventually(fmt.Sprintf("%d hundredths are done after %d losses", hundredths, losses), func(p *restore.Progress) bool {
		return p.Session.Losses == losses && len(p.Phases) > 0 && doneOf(p)*100 >= p.Phases[0].Expected*int64(p.Session.Phases+1)*hundredths
	})
}

// more waits until so many units more are done.
func (c *crew) more(units int64) {
	c.t.Helper()
	before := int64(-1)
	c.eventually(fmt.Sprintf("%d units more are done", units), func(p *restore.Progress) bool {
		done := doneOf(p)
		if before < 0 || done < before { // Redis was lost
			before = done
		}
		return done >= before+units
	})
}

// doneOf is how many units are done, in all phases together. What was done before Redis was lost is not among them.
func doneOf(p *restore.Progress) (units int64) {
	for _, phase := range p.Phases {
		units += phase.UnitsDone + phase.UnitsSkipped
	}
	return units
}

// eventually waits for a progress. A restore that has come to its end was not disturbed as it was to be.
func (c *crew) eventually(what string, so func(*restore.Progress) bool) {
	c.t.Helper()
	eventuallyAsked(c.t, 20*time.Millisecond, what, func() bool {
		p := c.look()
		if p != nil && p.Session.State.Over() {
			c.t.Fatalf("the restore is over before %s", what)
		}
		return p != nil && so(p)
	})
}

// manager is the process that manages the restore.
func (c *crew) manager() (manager *exec.Cmd) {
	c.t.Helper()
	c.eventually("one of them manages", func(p *restore.Progress) bool {
		at := slices.IndexFunc(c.alive, func(cmd *exec.Cmd) bool { return c.nameOf(cmd) == p.Session.Owner })
		if at < 0 || !p.Session.Led {
			return false
		}
		manager = c.alive[at]
		return true
	})
	return manager
}

// worker is a process that does not manage.
func (c *crew) worker() *exec.Cmd {
	c.t.Helper()
	manager := c.manager()
	return c.alive[slices.IndexFunc(c.alive, func(cmd *exec.Cmd) bool { return cmd != manager })]
}

// kill kills a process, lets the leases end that it had, and starts another one.
func (c *crew) kill(cmd *exec.Cmd) {
	c.t.Helper()
	c.killed(cmd)
	c.alive = slices.DeleteFunc(c.alive, func(one *exec.Cmd) bool { return one == cmd })
	c.kills++
	c.expireOf(cmd)
	c.join("work")
}

// expireOf lets the leases of one process end, as time does.
func (c *crew) expireOf(cmd *exec.Cmd) {
	c.t.Helper()
	name := c.nameOf(cmd)
	execute(c.t, c.dsn, "UPDATE reprise.restore_sessions SET lease_until = 0 WHERE finished_at = 0 AND owner = '"+name+"'")
	execute(c.t, c.dsn, "UPDATE reprise.restore_targets SET available_at = 0 WHERE state = 'processing' AND worker = '"+name+"'")
}

// freeze stops a process that has a target until its lease has ended and another one has done the target. Then it goes on with it.
func (c *crew) freeze(cmd *exec.Cmd) {
	c.t.Helper()
	var has []int64
	c.eventually("the worker has a target", func(*restore.Progress) bool {
		c.signal(cmd, syscall.SIGSTOP)
		if has = c.targets("worker = '" + c.nameOf(cmd) + "'"); len(has) == 0 {
			c.signal(cmd, syscall.SIGCONT)
		}
		return len(has) > 0
	})
	stopped := time.Now()
	c.expireOf(cmd)
	c.eventually("others have done what it had", func(*restore.Progress) bool {
		done := c.targets("state = 'done'")
		return !slices.ContainsFunc(has, func(id int64) bool { return !slices.Contains(done, id) })
	})
	c.signal(cmd, syscall.SIGCONT)
	if time.Since(stopped) < restoreLease/3 { // else it may find that its lease has ended before it comes to say what it did
		c.eventually("what it did late counts for nothing", func(*restore.Progress) bool {
			return c.query("SELECT id FROM reprise.restore_events WHERE kind = '"+restore.EventLate+"' AND who = '"+c.nameOf(cmd)+"'") != nil
		})
	}
}

func (c *crew) signal(cmd *exec.Cmd, what os.Signal) {
	c.t.Helper()
	if err := cmd.Process.Signal(what); err != nil {
		c.t.Fatal(err)
	}
}

// targets are the numbers of those for which a condition is so.
func (c *crew) targets(condition string) []int64 {
	c.t.Helper()
	return c.query("SELECT id FROM reprise.restore_targets WHERE " + condition)
}

func (s *restoreSite) query(sql string) []int64 {
	s.t.Helper()
	ctx := s.t.Context()
	conn, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, sql)
	if err != nil {
		s.t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// finish lets the restore come to its end, which all processes that are left are to take well.
func (c *crew) finish() {
	c.t.Helper()
	c.call(0, "pace", "--rate", "0")
	for _, cmd := range c.alive {
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("%v: %v", cmd.Args[1:], err)
		}
	}
	c.alive = nil
}
