package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterhttp"
)

// meterSite is a Redis, a ledger with its tables, and a configuration that names both.
type meterSite struct {
	t          *testing.T
	dir        string
	redis, sql string
}

func newMeterSite(t *testing.T, sql string) *meterSite {
	t.Helper()
	if out := must(t, "migrate", "up", "--ledger", sql); !strings.Contains(out, "are now") {
		t.Errorf("migrated: %s", out)
	}
	return newMeterSiteOn(t, sql)
}

// newMeterSiteOn is a site whose ledger has its tables.
func newMeterSiteOn(t *testing.T, sql string) *meterSite {
	t.Helper()
	at := &meterSite{t, t.TempDir(), servicetest.Redis(t).Database(t), sql}
	writeFile(t, at.path("meter.yaml"), fmt.Sprintf("redis: %s\nledger: %s\nretention: 2d\ntake-over: 1s\nlog: {format: json}\n", at.redis, at.sql))
	return at
}

func (at *meterSite) path(name string) string { return filepath.Join(at.dir, name) }

// meter runs a command of the meter.
func (at *meterSite) meter(args ...string) called {
	at.t.Helper()
	return call(at.t, "", append(append([]string{"meter"}, args...), "--config", at.path("meter.yaml"))...)
}

func (at *meterSite) must(args ...string) string {
	at.t.Helper()
	c := at.meter(args...)
	if c.code != exitDone {
		at.t.Fatalf("reprise meter %s: exit code %d: %s%s", strings.Join(args, " "), c.code, c.out, c.err)
	}
	return c.out
}

// says runs a command that has to end with a code, and to print something.
func (at *meterSite) says(code int, text string, args ...string) {
	at.t.Helper()
	if c := at.meter(args...); c.code != code || !strings.Contains(c.out+c.err, text) {
		at.t.Errorf("reprise meter %s: exit code %d: %s%s\nwant %d and %q", strings.Join(args, " "), c.code, c.out, c.err, code, text)
	}
}

func (at *meterSite) imports(text string) called {
	at.t.Helper()
	writeFile(at.t, at.path("import.csv"), text)
	return at.meter("import", at.path("import.csv"))
}

const household = importColumns + `
family,smith,,,,5000
line,anna,smith,1000,100,
line,bert,,1000,0,
app,video,,,,
`

// ledgers are the databases that a ledger can be in.
func ledgers() map[string]func(t *testing.T) string {
	return map[string]func(t *testing.T) string{
		"postgres": func(t *testing.T) string { return servicetest.Postgres(t).Database(t) },
		"mariadb":  func(t *testing.T) string { return servicetest.MariaDB(t).Database(t) },
	}
}

func onLedgers(t *testing.T, test func(t *testing.T, at *meterSite)) {
	for name, dsn := range ledgers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newMeterSite(t, dsn(t)))
		})
	}
}

// onSomeLedger is onLedgers for tests that take long and look at processes, not at their database. On which of them an
// ordinary run looks is a matter of luck.
func onSomeLedger(t *testing.T, test func(t *testing.T, at *meterSite)) {
	if proving() {
		onLedgers(t, test)
		return
	}
	for name, dsn := range ledgers() { // in no order
		t.Run(name, func(t *testing.T) { test(t, newMeterSite(t, dsn(t))) })
		return
	}
}

// A file is imported as a whole or not at all, and every mistake in it is told with its line.
func TestMeterImport(t *testing.T) {
	t.Parallel()
	onLedgers(t, func(t *testing.T, at *meterSite) {
		bad := importColumns + `
line,anna,nobody,1000,100,
line,bert,,-1,0,
line,"b b",,1,0,
lines,x,,,,
family,f,,,,1.5
line,carl,,9223372036854775808,0,
app,video,,5,,
line,dora
app,chat,,,,
app,chat,,,,
line,emil,,1,1,7
`
		c := at.imports(bad)
		for _, want := range []string{
			`:3: individual is "-1"`, `:4: "b b" is no id`, `:5: kind is "lines": write family, line or app`, `:6: shared is "1.5"`, `:7: individual is "9223372036854775808"`,
			":8: app has no individual", ":9: has 2 fields", ":11: app chat is in line 10 already", ":12: line has no shared", "nothing was imported",
		} {
			if c.code != exitFailed || !strings.Contains(c.err, want) {
				t.Errorf("exit code %d, no %s in\n%s", c.code, want, c.err)
			}
		}
		if c := at.imports("kind,id\n"); c.code != exitFailed || !strings.Contains(c.err, ":1: the first line names the columns") {
			t.Errorf("%+v", c)
		}
		if c := at.imports(importColumns + "\napp,chat,,,,\nline,anna,nobody,1,1,\n"); c.code != exitFailed || !strings.Contains(c.err, ":3: family nobody is neither in this file nor in the ledger") {
			t.Errorf("%+v", c)
		}
		at.says(exitFailed, `"anna"`, "show", "line", "anna")
		for range 2 {
			if c := at.imports(household); c.code != exitDone || c.out != "imported 1 families, 2 lines, 1 apps\n" {
				t.Errorf("%+v", c)
			}
		}
		if c := at.imports(importColumns + "\nline,anna,,1,1,\n"); c.code != exitFailed || !strings.Contains(c.err, `:2: line anna is in family "smith"`) {
			t.Errorf("%+v", c)
		}
	})
}

// usage sends an event and returns what was decided.
func (at *meterSite) usage(p *proxyProcess, id, line string, bytes int64) (meterhttp.Result, got) {
	at.t.Helper()
	e := meter.Event{ID: id, Line: line, App: "video", Bytes: bytes, At: time.Now()}
	g := p.post("/v1/usage?wait=true", "", string(e.AppendJSON(nil)))
	var r meterhttp.Result
	if err := json.Unmarshal([]byte(g.body), &r); err != nil {
		at.t.Errorf("%v in %+v", err, g)
	}
	return r, g
}

// From a ledger whose tables were printed, with the rights of a service and no others, to an audit that finds what somebody has changed by hand,
// and a restore.
func TestMeterCommands(t *testing.T) {
	t.Parallel()
	onServices(t, func(t *testing.T, at *meterSite) {
		if c := at.imports(household); c.code != exitDone {
			t.Fatalf("%+v", c)
		}
		at.says(exitFailed, "reprise meter hydrate", "serve", "--listen", "127.0.0.1:0")
		at.says(exitDone, "store_lost: Redis was never hydrated", "show", "line", "anna")
		at.says(exitDone, "the gate is open", "hydrate")
		at.says(exitDone, "nothing to do", "hydrate")
		p := startServing(t, at.dir, nil, "meter", "serve", "--config", "meter.yaml", "--listen", "127.0.0.1:0")
		if r, g := at.usage(p, "e-1", "anna", 1200); r.Decided == nil || r.Decided.Individual != 1000 || r.Decided.Shared != 200 {
			t.Errorf("%+v", g)
		}
		at.says(exitDone, "yes", "show", "line", "anna")
		at.says(exitDone, "4800", "show", "family", "smith", "--month", time.Now().UTC().Format("200601"))
		at.says(exitDone, "1 events, 1200 bytes served: no difference", "audit")
		at.says(exitDone, "made 0 grants", "open-month")
		at.says(exitDone, "summed up 1 rows", "fold", "--day", time.Now().UTC().Format("20060102"))
		at.says(exitDone, "no difference", "audit")
		at.newcomers(p)
		at.deadLetters(p)
		at.tampers()
		at.otherTerms()
		at.stops(p)
		at.renews()
		at.restores()
	})
}

// newcomers: who is imported while processes serve can be used, in a minute at the latest, or at once after the month was opened.
func (at *meterSite) newcomers(p *proxyProcess) {
	if c := at.imports(importColumns + "\nline,carl,smith,10,0,\n"); c.code != exitDone {
		at.t.Errorf("%+v", c)
	}
	at.must("open-month")
	if r, g := at.usage(p, "e-2", "carl", 15); r.Decided == nil || r.Decided.Individual != 10 || r.Decided.Shared != 5 {
		at.t.Errorf("%+v", g)
	}
}

// deadLetters: what is refused for good is listed with its reason, and can be sent again.
func (at *meterSite) deadLetters(p *proxyProcess) {
	at.says(exitDone, "there are no dead letters", "dead-letters", "list")
	if _, g := at.usage(p, "e-1", "anna", 7); g.status != http.StatusUnprocessableEntity {
		at.t.Errorf("%+v", g)
	}
	eventually(at.t, "a dead letter", func() bool { return strings.Contains(at.must("dead-letters", "list"), "other_content") })
	var letter struct{ Letter, Reason, Event string }
	if err := json.Unmarshal([]byte(at.must("dead-letters", "list", "--json")), &letter); err != nil || letter.Reason != "other_content" {
		at.t.Errorf("%+v, %v", letter, err)
	}
	at.says(exitFailed, "there is no letter 3/0-1", "dead-letters", "resend", "3/0-1")
	at.says(exitUsage, "say which", "dead-letters", "resend")
	at.says(exitDone, "1 were sent again", "dead-letters", "resend", letter.Letter)
	eventually(at.t, "it is refused again", func() bool { return strings.Contains(at.must("dead-letters", "list"), "other_content") })
	at.says(exitDone, "0 were sent again", "dead-letters", "resend", "--reason", "bad_bytes")
}

// tampers: an audit finds a balance that somebody has changed.
func (at *meterSite) tampers() {
	redis := servicetest.Redis(at.t)
	connection, err := redis.Dial(at.redis)
	if err != nil {
		at.t.Fatal(err)
	}
	defer connection.Close()
	keys, err := connection.Do("KEYS", "remaining_indiv_amount:*:bert:"+time.Now().UTC().Format("200601"))
	list, _ := keys.([]any)
	if err != nil || len(list) != 1 {
		at.t.Fatalf("%v, %v", keys, err)
	}
	if _, err := connection.Do("HINCRBY", fmt.Sprint(list[0]), "amount", "5"); err != nil {
		at.t.Fatal(err)
	}
	at.says(exitFailed, `amount="1005"`, "audit", "--patience", "1s")
	at.says(exitFailed, "1 differences", "audit", "--patience", "1s")
	if _, err := connection.Do("HINCRBY", fmt.Sprint(list[0]), "amount", "-5"); err != nil {
		at.t.Fatal(err)
	}
	at.must("audit")
}

// otherTerms: who would count days and months otherwise than the rows in SQL, or keep what is in Redis for another time, is not let
// in.
func (at *meterSite) otherTerms() {
	usual := readFile(at.t, at.path("meter.yaml"))
	defer writeFile(at.t, at.path("meter.yaml"), usual)
	for _, line := range []string{"zone: Europe/Berlin\n", "anchor: 15\n"} {
		writeFile(at.t, at.path("meter.yaml"), usual+line)
		for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"hydrate", "--renew"}, {"fold"}} {
			at.says(exitUsage, "its days are those of UTC, and its months begin on day 1", command...)
		}
	}
	writeFile(at.t, at.path("meter.yaml"), strings.Replace(usual, "retention: 2d", "retention: 1d", 1))
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"hydrate"}, {"fold"}, {"audit"}} {
		at.says(exitUsage, "its retention is 48h0m0s with a tolerance of", command...)
	}
}

// stops: the ports answer, SIGTERM ends the process, and everything is recorded.
func (at *meterSite) stops(p *proxyProcess) {
	ask := func(path, host string) got {
		r, err := http.NewRequestWithContext(at.t.Context(), http.MethodGet, "http://"+p.address+path, nil)
		if err != nil {
			at.t.Fatal(err)
		}
		r.Host = host
		return fetch(http.DefaultClient, r)
	}
	if g := ask("/readyz?store=required", p.address); g.status != http.StatusOK {
		at.t.Errorf("ready: %+v", g)
	}
	if g := ask("/metrics", p.address); !strings.Contains(g.body, `reprise_meter_events_total{outcome="accepted"} `) || !strings.Contains(g.body, "reprise_meter_gate 1") || !strings.Contains(g.body, "reprise_meter_dead_letters ") {
		at.t.Errorf("metrics: %s", g.body)
	}
	if g := ask("/v1/lines/anna", "meter.example"); g.status != http.StatusForbidden || !strings.Contains(g.body, "urn:reprise:problem:other-host") {
		at.t.Errorf("by another name: %+v", g)
	}
	p.signal(syscall.SIGTERM)
	p.await("stopped")
	if code := p.exit(); code != exitDone {
		at.t.Errorf("exit code %d", code)
	}
	at.must("audit")
}

// renews: who serves on terms that are renewed meanwhile ends, and says on which it worked.
func (at *meterSite) renews() {
	p := startServing(at.t, at.dir, nil, "meter", "serve", "--config", "meter.yaml", "--listen", "127.0.0.1:0")
	usual := readFile(at.t, at.path("meter.yaml"))
	writeFile(at.t, at.path("meter.yaml"), strings.Replace(usual, "retention: 2d", "retention: 3d", 1))
	at.says(exitDone, "the gate is open", "hydrate", "--renew")
	p.await("meter: the keeper ended")
	if code := p.exit(); code != exitFailed {
		at.t.Errorf("exit code %d", code)
	}
	at.must("audit")
}

// What cannot work is refused at the start, with what to do.
func TestMeterRefusals(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"no ledger; say it with --ledger": {"meter", "fold"},
		"no redis; say it with --redis":   {"meter", "serve", "--ledger", "postgres://h/d"},
		`write postgres://… or mysql://…`: {"meter", "fold", "--ledger", "sqlite:x"},
		"is not a month":                  {"meter", "show", "line", "x", "--month", "2026"},
		"is not a day":                    {"meter", "fold", "--day", "yesterday"},
		"write line or family":            {"meter", "show", "lines", "x"},
		"write a share such as 5%":        {"meter", "load", "--duplicates", "five"},
		"can be reached from elsewhere":   {"meter", "serve", "--ledger", "postgres://h/d", "--redis", "redis://h", "--listen", "0.0.0.0:0"},
		"did you mean":                    {"meter", "hydrat"},
	} {
		if c := call(t, "", args...); c.code == exitDone || !strings.Contains(c.err, want) {
			t.Errorf("%v: %+v, want %s", args, c, want)
		}
	}
	short := filepath.Join(t.TempDir(), "token")
	writeFile(t, short, "short\n")
	if c := call(t, "", "meter", "serve", "--ledger", "postgres://h/d", "--redis", "redis://h", "--token-file", short); c.code != exitUsage || !strings.Contains(c.err, "at least 16 characters") {
		t.Errorf("%+v", c)
	}
	at := newMeterSite(t, servicetest.Postgres(t).Database(t))
	evicting := servicetest.NewRedis(t, servicetest.RedisOptions{Settings: map[string]string{"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}})
	at.says(exitFailed, "noeviction", "hydrate", "--redis", evicting.DSN(1))
}
