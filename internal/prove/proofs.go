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
	keys     = regexp.MustCompile(`(\d+) keys`)
	decided  = regexp.MustCompile(`(\d+) cases`)
	metered  = regexp.MustCompile(`(\d+) events: \d+ kills`)
	states   = regexp.MustCompile(`(\d+) worlds`)
	restored = regexp.MustCompile(`(\d+) lines restored`)
	durable  = regexp.MustCompile(`(\d+) events durable`)
	twice    = regexp.MustCompile(`(\d+) lines restored twice`)
	faults   = regexp.MustCompile(`(\d+) (?:I/Os have failed|troubles came and went|rounds were played)`)
)

// proofs are all of them: the matrix, and what is shown once.
func proofs() []proof {
	var all []proof
	for _, l := range lines() {
		for _, place := range places() {
			all = append(all, l.proof(place))
		}
	}
	return append(all, single()...)
}

func single() []proof {
	return []proof{
		{"the guard keeps its promises in every interleaving",
			"two and three callers, a resolver and an operator; messages lost, repeated and late; every process stopped at every step. Broken machines are found.",
			[]string{"-timeout=6h", "./internal/explore"}, states, "worlds"},
		{"memory is machine.Step",
			"random histories, every reply and record compared",
			[]string{"-race", "-timeout=2h", "-run=^TestStore$/^random$", "./store/memstore"}, commands, "commands"},
		{"what is around the stores keeps their contract",
			"memory, two stores while records are moved, faults on purpose, traces and metrics: the conformance suite, and their own tests",
			[]string{"-race", "-timeout=2h", "-skip=" + ownLine, "./store", "./store/memstore", "./store/movestore", "./store/faultstore", "./store/observestore", "./store/internal/..."}, passed, "tests"},
		{"a secret is rotated without a key running twice or a replay lost",
			"two proxy processes on one store, SQLite, PostgreSQL and MariaDB, under load, before, at and after the instant",
			[]string{"-race", "-timeout=1h", "-run=^TestRotation$", "./cmd/reprise"}, keys, "keys"},
		{"an effect in Redis counts once",
			"replies swallowed, requests and connections cut, scripts forgotten, all at random; a server killed under effects; a slot that goes back and forth in a Cluster under load",
			[]string{"-race", "-timeout=2h", "-run=^(TestLostEffectsAreSettled|TestEffectsOnAServerThatIsKilled|TestSlotsMoveUnderLoad)$", "./store/redisstore"}, keys, "keys"},
		{"the meter's scripts decide as meter.Apply does",
			"random states, policies, events and grants; results, reasons and states compared; on one server, and events in a Cluster, too",
			[]string{"-timeout=2h", "-run=^(TestScriptIsApply|TestGrantIsApplyGrant)$", "./meter/meterredis"}, decided, "cases"},
		underFire("PostgreSQL", "postgres"),
		underFire("MariaDB", "mariadb"),
		{"a restore comes to the same end, whatever dies",
			"a process killed before and after everything that it does, SQL servers killed in the middle, three processes killed at any moment, Redis emptied again, damage of every class to every kind of key found, put right and undone; on PostgreSQL and MariaDB",
			[]string{"-race", "-timeout=2h", "-run=^(TestPostgres|TestMariaDB|TestTheSQLServerDies|TestPlan|TestRestoreUnderTrouble|TestDamageOfEveryClass|TestRestoreIsKilled)$", "./restore", "./meter/meterrestore", "./cmd/reprise"}, passed, "tests"},
		{"Redis is emptied under load, and one command brings it back",
			"1,000,000 lines, two processes that take in usage, one of them durably; what was acknowledged as durable has one row, what was not has one or is lost with its stream, and counts once when it is sent again; audit and verification find nothing",
			[]string{"-timeout=6h", "-run=^TestRestoreUnderLoad$", "./cmd/reprise"}, durable, "durable events"},
		{"a disturbed restore makes the same keys, to the byte",
			"1,000,000 lines restored twice; once the manager is killed five times, two of three workers are killed, one stands still for longer than its lease, Redis is emptied at 60 % and SQL is restarted",
			[]string{"-timeout=6h", "-run=^TestADisturbedRestoreComesToTheSame$", "./cmd/reprise"}, twice, "lines"},
		{"the time of a restore grows with its lines, and its memory does not",
			"10,000, 100,000 and 1,000,000 lines restored and verified by one process",
			[]string{"-timeout=6h", "-run=^TestRestoreAtScale$", "./meter/meterrestore"}, restored, "lines"},
		{"nothing depends on order or luck",
			"all tests three times, in random order, with the race detector",
			[]string{"-race", "-shuffle=on", "-count=3", "-timeout=6h", "./..."}, passed, "tests"},
	}
}

// underFire is a proof of the meter with one of the databases: each is of 2,000,000 events, and takes an hour.
func underFire(ledger, test string) proof {
	return proof{"the meter counts each event once: " + ledger,
		"two processes that serve, one of them killed every few seconds, connections to Redis cut at random, events twice and late, all policies in use; at every check each event has one row, and the audit finds no difference",
		[]string{"-timeout=6h", "-run=^TestMeterUnderFire$/^" + test + "$", "./cmd/reprise"}, metered, "events"}
}

// run runs the tests, and returns what they printed too. The last proof runs every test as it is usually run: long ones
// three times over would find nothing new.
func (p proof) run(ctx context.Context) (result, string) {
	r := result{At: time.Now().UTC(), Revision: revision(ctx)}
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-v", "-count=1"}, p.tests...)...)
	command.Env = os.Environ()
	if p.tests[len(p.tests)-1] != "./..." {
		command.Env = append(command.Env, "REPRISE_PROVE=1")
	}
	out, err := command.CombinedOutput()
	r.Seconds = int(time.Since(r.At).Seconds())
	for _, m := range p.count.FindAllStringSubmatch(string(out), -1) {
		n, failure := strconv.Atoi(m[1])
		if failure != nil { // not a number: the match itself counts
			n = 1
		}
		r.Tries += n
	}
	r.OK = err == nil && r.Tries > 0
	return r, string(out)
}

// revision names what is proved.
func revision(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
