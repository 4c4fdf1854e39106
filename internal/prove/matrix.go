package main

import "regexp"

// places are where records can be kept, in the order of the matrix. Memory is not among them: it is the model that
// they are compared with, and ends with its process.
func places() []string {
	return []string{"SQLite", "PostgreSQL", "MariaDB", "Redis", "Redis behind Sentinel", "Redis Cluster"}
}

// line is something that is shown of every place.
type line struct {
	what, how string
	cells     map[string]cell // by place
}

// cell is the tests that show it of one place.
type cell struct {
	tests []string
	count *regexp.Regexp
	unit  string
}

var (
	ordered  = regexp.MustCompile(`(\d+) commands have an order`)
	answered = regexp.MustCompile(`(\d+) answers to \d+ processes`)
	kills    = regexp.MustCompile(`(\d+) kills, \d+ keys`)
	effects  = regexp.MustCompile(`(\d+) keys of effects`)
)

// inStore runs tests of one store.
func inStore(store, tests string) []string {
	return []string{"-race", "-timeout=6h", "-run=" + tests, "./store/" + store}
}

// Tests of lines that have a proof of their own, and those of Redis that are of one topology.
const (
	ownLine   = `^TestConformance$/^(random|linear)$|^TestConformance$/.*/^(random|linear)$|^TestFaults|^TestOneOf(Many|Two)ProcessesGetsTheKey$|^TestKilledEffectsAreDoneOnceOrNotAtAll$|^TestLostEffectsAreSettled$|^TestFailoverInTheMiddleOfManyCallers$`
	ofCluster = `.*/^cluster$|^(TestPlannedFailover|TestWaitingInACluster|TestEveryServerOfAClusterIsScanned|TestEffectInACluster|TestSlotsMoveUnderLoad|TestSurvey)$`
	ofGroup   = `.*/^sentinel$|^(TestFailoverAfterDeath|TestUnplannedFailoverUnderLoad)$`
)

// rest runs the tests of a store that no other line runs: all, or those that are named, but for others.
func rest(store, run, skip string) cell {
	if skip != "" {
		skip = "|" + skip
	}
	return cell{[]string{"-race", "-timeout=2h", "-run=" + run, "-skip=" + ownLine + skip, "./store/" + store}, passed, "tests"}
}

// lines are the matrix.
func lines() []line {
	return []line{
		{"it is machine.Step", "random histories, every reply and record compared; Redis also in the ways of before 7", map[string]cell{
			"SQLite":                {inStore("sqlitestore", "^TestConformance$/^random$"), commands, "commands"},
			"PostgreSQL":            {inStore("pgstore", "^TestConformance$/^random$"), commands, "commands"},
			"MariaDB":               {inStore("mysqlstore", "^TestConformance$/^random$"), commands, "commands"},
			"Redis":                 {inStore("redisstore", "^TestConformance$/^(standalone|older)$/^random$"), commands, "commands"},
			"Redis behind Sentinel": {inStore("redisstore", "^TestConformance$/^sentinel$/^random$"), commands, "commands"},
			"Redis Cluster":         {inStore("redisstore", "^TestConformance$/^cluster$/^random$"), commands, "commands"},
		}},
		{"it is linearizable", "concurrent histories have an order in which machine.Step gives the same replies", map[string]cell{
			"SQLite":                {inStore("sqlitestore", "^TestConformance$/^linear$"), ordered, "commands"},
			"PostgreSQL":            {inStore("pgstore", "^TestConformance$/^linear$"), ordered, "commands"},
			"MariaDB":               {inStore("mysqlstore", "^TestConformance$/^linear$"), ordered, "commands"},
			"Redis":                 {inStore("redisstore", "^TestConformance$/^(standalone|older)$/^linear$"), ordered, "commands"},
			"Redis behind Sentinel": {inStore("redisstore", "^TestConformance$/^sentinel$/^linear$"), ordered, "commands"},
			"Redis Cluster":         {inStore("redisstore", "^TestConformance$/^cluster$/^linear$"), ordered, "commands"},
		}},
		{"it is honest when something goes wrong", "of one server every I/O fails once, before and after it was done, in every way (of the thousands with which Redis lists what is unknown, all alike, about a hundred in each way); servers, disks and networks are harmed under load, in a Cluster one of its servers, and behind Sentinel the master is replaced; histories with faults have an order", map[string]cell{
			"SQLite":                {inStore("sqlitestore", "^TestFaults$"), faults, "faults and histories"},
			"PostgreSQL":            {inStore("pgstore", "^TestFaults$"), faults, "faults and histories"},
			"MariaDB":               {inStore("mysqlstore", "^TestFaults$"), faults, "faults and histories"},
			"Redis":                 {inStore("redisstore", "^TestFaults$"), faults, "faults and histories"},
			"Redis behind Sentinel": {inStore("redisstore", "^TestFaultsBehindSentinel$"), faults, "faults and histories"},
			"Redis Cluster":         {inStore("redisstore", "^TestFaultsInACluster$"), faults, "faults and histories"},
		}},
		{"one of a burst gets the key", "duplicates from several processes at once", map[string]cell{
			"SQLite":                {inStore("sqlitestore", "^TestOneOfManyProcessesGetsTheKey$"), answered, "callers"},
			"PostgreSQL":            {inStore("pgstore", "^TestOneOfTwoProcessesGetsTheKey$"), answered, "callers"},
			"MariaDB":               {inStore("mysqlstore", "^TestOneOfTwoProcessesGetsTheKey$"), answered, "callers"},
			"Redis":                 {inStore("redisstore", "^TestOneOfManyProcessesGetsTheKey$/^standalone$"), answered, "callers"},
			"Redis behind Sentinel": {inStore("redisstore", "^TestOneOfManyProcessesGetsTheKey$/^sentinel$"), answered, "callers"},
			"Redis Cluster":         {inStore("redisstore", "^TestOneOfManyProcessesGetsTheKey$/^cluster$"), answered, "callers"},
		}},
		{"an effect is done once, or not at all", "a process that places orders is killed at random moments; every key is tried again, and has one order and one answer", map[string]cell{
			"SQLite":                {inStore("sqlitestore", "^TestKilledEffectsAreDoneOnceOrNotAtAll$"), kills, "kills"},
			"PostgreSQL":            {inStore("pgstore", "^TestKilledEffectsAreDoneOnceOrNotAtAll$"), kills, "kills"},
			"MariaDB":               {inStore("mysqlstore", "^TestKilledEffectsAreDoneOnceOrNotAtAll$"), kills, "kills"},
			"Redis":                 {inStore("redisstore", "^TestKilledEffectsAreDoneOnceOrNotAtAll$/^standalone$"), kills, "kills"},
			"Redis behind Sentinel": {inStore("redisstore", "^TestKilledEffectsAreDoneOnceOrNotAtAll$/^sentinel$"), kills, "kills"},
			"Redis Cluster":         {inStore("redisstore", "^TestKilledEffectsAreDoneOnceOrNotAtAll$/^cluster$"), kills, "kills"},
		}},
		{"an effect counts once where it is not known to have arrived", "SQLite: commits in doubt and full disks; servers: replies swallowed, requests and connections cut at random; Sentinel and Cluster: a master is replaced in the middle", map[string]cell{
			"SQLite":                {inStore("sqlitestore", "^(TestACommitOfAnEffectInDoubt|TestAnEffectOnAFullDisk|TestEffectsWithAnotherDriver)$"), passed, "tests"},
			"PostgreSQL":            {inStore("pgstore", "^TestLostEffectsAreSettled$"), keys, "keys"},
			"MariaDB":               {inStore("mysqlstore", "^TestLostEffectsAreSettled$"), keys, "keys"},
			"Redis":                 {inStore("redisstore", "^TestLostEffectsAreSettled$"), keys, "keys"},
			"Redis behind Sentinel": {inStore("redisstore", "^TestFailoverInTheMiddleOfManyCallers$/^sentinel$"), effects, "keys"},
			"Redis Cluster":         {inStore("redisstore", "^TestFailoverInTheMiddleOfManyCallers$/^cluster$"), effects, "keys"},
		}},
		{"it keeps the rest of the contract", "each command in each state, bounds, clocks, lists, purges; the store's own tests of crashes, full disks, damage, migrations and several processes; Redis behind Sentinel and in a Cluster: what differs there", map[string]cell{
			"SQLite":                rest("sqlitestore", ".", ""),
			"PostgreSQL":            rest("pgstore", ".", ""),
			"MariaDB":               rest("mysqlstore", ".", ""),
			"Redis":                 rest("redisstore", ".", ofCluster+"|"+ofGroup),
			"Redis behind Sentinel": rest("redisstore", ofGroup, ""),
			"Redis Cluster":         rest("redisstore", ofCluster, ""),
		}},
	}
}

// proof returns a cell of the matrix as a proof.
func (l line) proof(place string) proof {
	c := l.cells[place]
	return proof{what: l.what + ": " + place, how: l.how, tests: c.tests, count: c.count, unit: c.unit}
}
