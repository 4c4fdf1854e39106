package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// proof is a set of tests that together show something.
type proof struct {
	what  string   // is shown
	how   string   // in words
	tests []string // arguments of go test
	count *regexp.Regexp
	unit  string // of what the first group of count has found, summed up
}

var (
	passed   = regexp.MustCompile(`(?m)^\s*--- (PASS): `)
	commands = regexp.MustCompile(`seed \d+: (\d+) commands`)
	rotated  = regexp.MustCompile(`(\d+) keys`)
	decided  = regexp.MustCompile(`(\d+) cases`)
	metered  = regexp.MustCompile(`(\d+) events: \d+ kills`)
	states   = regexp.MustCompile(`(\d+) worlds`)
	faults   = regexp.MustCompile(`(\d+) (?:I/Os have failed|troubles came and went|rounds were played)`)
)

func proofs() []proof {
	return []proof{
		{"the guard keeps its promises in every interleaving",
			"two and three callers, a resolver and an operator; messages lost, repeated and late; every process stopped at every step. Broken machines are found.",
			[]string{"-timeout=6h", "./internal/explore"}, states, "worlds"},
		{"memory is machine.Step",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestStore$/^random$", "./store/memstore"}, commands, "commands"},
		{"SQLite is machine.Step",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^random$", "./store/sqlitestore"}, commands, "commands"},
		{"PostgreSQL is machine.Step",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^random$", "./store/pgstore"}, commands, "commands"},
		{"MariaDB is machine.Step",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^random$", "./store/mysqlstore"}, commands, "commands"},
		{"Redis is machine.Step on one server",
			"random histories, every reply and record compared; also in the ways of Redis before 7",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^(standalone|older)$/^random$", "./store/redisstore"}, commands, "commands"},
		{"Redis is machine.Step behind Sentinel",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^sentinel$/^random$", "./store/redisstore"}, commands, "commands"},
		{"Redis is machine.Step in a Cluster",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^cluster$/^random$", "./store/redisstore"}, commands, "commands"},
		{"every store is linearizable",
			"concurrent histories have an order in which machine.Step gives the same replies",
			[]string{"-race", "-timeout=2h", "-run=^(TestStore|TestConformance)$/^linear$", "./store/memstore", "./store/sqlitestore", "./store/pgstore", "./store/mysqlstore"}, passed, "tests"},
		{"Redis is linearizable on one server, behind Sentinel and in a Cluster",
			"concurrent histories have an order in which machine.Step gives the same replies",
			[]string{"-race", "-timeout=2h", "-run=^TestConformance$/^[a-z]+$/^linear$", "./store/redisstore"}, passed, "tests"},
		{"every store is honest when something goes wrong",
			"every I/O fails once, before and after it was done, in every way; servers, disks and networks are harmed under load; histories with faults have an order. Redis on one server, behind Sentinel and in a Cluster.",
			[]string{"-race", "-timeout=6h", "-run=^TestFaults", "./store/memstore", "./store/sqlitestore", "./store/pgstore", "./store/mysqlstore", "./store/redisstore"}, faults, "faults and histories"},
		{"every store keeps the whole contract",
			"the conformance suite, and each store's own tests of crashes, full disks, damage and several processes",
			[]string{"-race", "-timeout=2h", "./store/..."}, passed, "tests"},
		{"a secret is rotated without a key running twice or a replay lost",
			"two proxy processes on one store, SQLite, PostgreSQL and MariaDB, under load, before, at and after the instant",
			[]string{"-race", "-timeout=1h", "-run=^TestRotation$", "./cmd/reprise"}, rotated, "keys"},
		{"an effect commits with its record, or not at all",
			"on SQLite, PostgreSQL, MariaDB and Redis a process that places orders is killed at random moments, 1,000 times; every key is tried again, and has one order and one answer",
			[]string{"-race", "-timeout=2h", "-run=^TestKilledEffectsAreDoneOnceOrNotAtAll$", "./store/sqlitestore", "./store/pgstore", "./store/mysqlstore", "./store/redisstore"}, rotated, "keys"},
		{"an effect in Redis counts once",
			"replies swallowed, requests and connections cut, scripts forgotten, all at random; a server killed under effects; a slot that goes back and forth in a Cluster under load",
			[]string{"-race", "-timeout=2h", "-run=^(TestLostEffectsAreSettled|TestEffectsOnAServerThatIsKilled|TestSlotsMoveUnderLoad)$", "./store/redisstore"}, rotated, "keys"},
		{"the meter's scripts decide as meter.Apply does",
			"random states, policies, events and grants; results, reasons and states compared",
			[]string{"-timeout=2h", "-run=^(TestScriptIsApply|TestGrantIsApplyGrant)$", "./meter/meterredis"}, decided, "cases"},
		{"the meter counts each event once",
			"two processes that serve, one of them killed every few seconds, connections to Redis cut at random, events twice and late, all policies in use, on PostgreSQL and MariaDB; at every check each event has one row, and the audit finds no difference",
			[]string{"-timeout=6h", "-run=^TestMeterUnderFire$", "./cmd/reprise"}, metered, "events"},
		{"nothing depends on order or luck",
			"all tests three times, in random order, with the race detector",
			[]string{"-race", "-shuffle=on", "-count=3", "-timeout=6h", "./..."}, passed, "tests"},
	}
}

// result is what a proof came to.
type result struct {
	proof
	ok     bool
	tries  int
	took   time.Duration
	at     time.Time
	output string
}

// run runs the tests. The last proof runs every test as it is usually run: long ones three times over
// would find nothing new.
func (p proof) run(ctx context.Context) result {
	r := result{proof: p, at: time.Now().UTC()}
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-v", "-count=1"}, p.tests...)...)
	command.Env = os.Environ()
	if p.tests[len(p.tests)-1] != "./..." {
		command.Env = append(command.Env, "REPRISE_PROVE=1")
	}
	out, err := command.CombinedOutput()
	r.output, r.took = string(out), time.Since(r.at).Round(time.Second)
	for _, m := range p.count.FindAllStringSubmatch(r.output, -1) {
		n, failure := strconv.Atoi(m[1])
		if failure != nil { // not a number: the match itself counts
			n = 1
		}
		r.tries += n
	}
	r.ok = err == nil && r.tries > 0
	return r
}

// tried says how much, with commas between thousands.
func (r result) tried() string {
	digits := strconv.Itoa(r.tries)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String() + " " + r.unit
}
