package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// called is what came of a command line.
type called struct {
	code     int
	out, err string
}

// call runs a command line in this process.
func call(t *testing.T, stdin string, args ...string) called {
	t.Helper()
	return callIn(t, nil, stdin, args...)
}

func callIn(t *testing.T, environ []string, stdin string, args ...string) called {
	t.Helper()
	var out, failure bytes.Buffer
	code := run(t.Context(), args, process{In: strings.NewReader(stdin), Out: &out, Err: &failure, Environ: environ})
	return called{code, out.String(), failure.String()}
}

// must is call for what has to work.
func must(t *testing.T, args ...string) string {
	t.Helper()
	c := call(t, "", args...)
	if c.code != exitDone {
		t.Fatalf("reprise %s: exit code %d: %s", strings.Join(args, " "), c.code, c.err)
	}
	return c.out
}

func testDigest(key string) machine.Digest { return sha256.Sum256([]byte(key)) }

// newRecords puts one record in each of three states into a store: "paid" is completed, "lost" and "gone"
// are abandoned, "busy" is executing. It returns the store's DSN.
func newRecords(t *testing.T, at *site) string {
	t.Helper()
	p, err := parsePlace(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.openStore(t.Context(), mayCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	begin := func(key, operation string) machine.Hold {
		claim := machine.Claim{
			Scope: machine.Scope{Operation: operation, SecretVersion: 1, Digest: testDigest(key)}, Owner: machine.Token(testDigest("owner")),
			Operation: machine.ID{1}, Lease: time.Hour, Fingerprints: []machine.Fingerprint{{Version: 2, Sum: testDigest("body")}},
		}
		reply := apply(t, s, machine.Begin{Claim: claim, Nonce: machine.Nonce{1}})
		return machine.Hold{Scope: claim.Scope, Owner: claim.Owner, Attempt: 1, Revision: reply.Revision, Operation: claim.Operation, Nonce: machine.Nonce{1}}
	}
	answer := httpguard.Answer{Status: 201, Header: http.Header{"Location": {"/orders/1"}}, Body: []byte("coffee\x1b[31m")}.Response()
	apply(t, s, machine.Complete{Hold: begin("paid", "POST /orders"), Response: machine.NewResponse(answer.Codec, answer.Data), Window: time.Hour, Remember: time.Hour})
	apply(t, s, machine.Fail{Hold: begin("lost", "POST /orders"), Reason: "no answer \x1b[31m"})
	apply(t, s, machine.Fail{Hold: begin("gone", "POST /refunds"), Reason: "no answer"})
	begin("busy", "POST /orders")
	return at.dsn
}

func apply(t *testing.T, s store.Store, command machine.Command) machine.Reply {
	t.Helper()
	reply, err := s.Apply(context.Background(), command)
	if err != nil || !reply.Outcome.Applied() {
		t.Fatalf("%v: %v %s, error %v", command.Kind(), reply.Outcome, reply.Reason, err)
	}
	return reply
}

func TestOpsList(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		out := must(t, "ops", "list", "--store", dsn)
		for _, want := range []string{"DIGEST", testDigest("paid").String()[:16] + "  completed", "POST /refunds", "no answer \uFFFD[31m"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not in:\n%s", want, out)
			}
		}
		if strings.Contains(out, "\x1b") || strings.Count(out, "\n") != 5 {
			t.Errorf("listing:\n%q", out)
		}
		out = must(t, "ops", "list", "--store", dsn, "--state", "abandoned", "--operation", "POST /refunds", "--json")
		var record struct{ Digest, State, Operation, Reason string }
		if err := json.Unmarshal([]byte(out), &record); err != nil || record.Digest != testDigest("gone").String() || record.State != "abandoned" {
			t.Errorf("error %v, printed %s", err, out)
		}
		if c := call(t, "", "ops", "list", "--store", dsn, "--older-than", "1h"); c.out != "" || at.notes(c) != "no records\n" || c.code != 0 {
			t.Errorf("older than an hour: %+v", c)
		}
	})
}

// A listing that stops early says how to go on, and going on shows each record once.
func TestOpsListPages(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn, cursor, seen := newRecords(t, at), "", ""
		for range 4 {
			c := call(t, "", "ops", "list", "--store", dsn, "--json", "--limit", "1", "--cursor", cursor)
			if c.code != 0 || strings.Count(c.out, "\n") != 1 {
				t.Fatalf("page: %+v", c)
			}
			seen += c.out
			_, cursor, _ = strings.Cut(strings.TrimSpace(c.err), "--cursor ")
		}
		for _, key := range []string{"paid", "lost", "gone", "busy"} {
			if strings.Count(seen, testDigest(key).String()) != 1 {
				t.Errorf("%s is not listed once", key)
			}
		}
		all := call(t, "", "ops", "list", "--store", dsn, "--json", "--limit", "0")
		if sorted(all.out) != sorted(seen) || at.notes(all) != "" { // a scan has no order
			t.Errorf("all: %+v", all)
		}
	})
}

// sorted returns a text with its lines in order.
func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

func TestOpsShow(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		digest := testDigest("paid").String()
		out := must(t, "ops", "show", "--store", dsn, digest[:8])
		if !strings.Contains(out, digest) || !strings.Contains(out, "codec http/1") || strings.Contains(out, "coffee") || strings.Contains(out, "Location") {
			t.Errorf("shown:\n%s", out)
		}
		out = must(t, "ops", "show", "--store", dsn, digest, "--answer")
		if !strings.HasSuffix(out, "\n201 Created\nLocation: /orders/1\n\ncoffee\uFFFD[31m\n") {
			t.Errorf("shown with its answer:\n%s", out)
		}
		var s shown
		if err := json.Unmarshal([]byte(must(t, "ops", "show", "--store", dsn, digest, "--answer", "--json")), &s); err != nil {
			t.Fatal(err)
		}
		want := &response{Status: 201, Headers: http.Header{"Location": {"/orders/1"}}, Body: []byte("coffee\x1b[31m")}
		if diff := cmp.Diff(want, s.Response); diff != "" || s.State != "completed" {
			t.Errorf("%s: %s", s.State, diff)
		}
		for says, args := range map[string][]string{"is not a digest": {"show", "zzzz"}, "not a cursor": {"list", "--cursor", "garbage"}} {
			if c := call(t, "", append([]string{"ops", "--store", dsn}, args...)...); c.code != exitUsage || !strings.Contains(c.err, says) {
				t.Errorf("%v: %+v", args, c)
			}
		}
		if c := call(t, "", "ops", "show", "--store", dsn, testDigest("nobody").String()); c.code != exitFailed || !strings.Contains(c.err, "no such record") {
			t.Errorf("nobody: %+v", c)
		}
	})
}

// The answer that is settled is the one that callers will get.
func TestOpsSettleCompleted(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		file := filepath.Join(t.TempDir(), "order.json")
		if err := os.WriteFile(file, []byte(`{"order":17}`), 0o600); err != nil {
			t.Fatal(err)
		}
		digest := testDigest("lost").String()
		out := must(t, "ops", "settle", digest[:10], "--store", dsn, "--completed", "--status", "201", "--header", "Location: /orders/17",
			"--header", "X-Multi: a", "--header", "x-multi: b", "--body-file", file, "--who", "ann", "--why", "order 17 is in the book", "--evidence", "ticket 4711")
		if !strings.Contains(out, "no answer") || !strings.Contains(out, "settled revision 2 as completed; the record is at revision 3 now\nreplays until     2") {
			t.Errorf("printed:\n%s", out)
		}
		var s shown
		if err := json.Unmarshal([]byte(must(t, "ops", "show", "--store", dsn, digest, "--answer", "--json")), &s); err != nil {
			t.Fatal(err)
		}
		want := &response{Status: 201, Headers: http.Header{"Location": {"/orders/17"}, "X-Multi": {"a", "b"}}, Body: []byte(`{"order":17}`)}
		if diff := cmp.Diff(want, s.Response); diff != "" {
			t.Error(diff)
		}
		if got := s.Settlement; got == nil || got.Who != "ann" || got.Why != "order 17 is in the book" || got.Evidence != "ticket 4711" {
			t.Errorf("settlement %+v", got)
		}
	})
}

func TestOpsSettleRetryable(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		digest := testDigest("lost").String()
		var s settlement
		out := must(t, "ops", "settle", digest, "--store", dsn, "--retryable", "--who", "ann", "--why", "nobody has seen it", "--revision", "2", "--json")
		if err := json.Unmarshal([]byte(out), &s); err != nil || s.Digest != digest || s.JudgedRevision != 2 || s.Revision != 3 || s.State != "retryable" {
			t.Errorf("error %v, printed %s", err, out)
		}
	})
}

// A body from standard input, in the codec of a guard that is not HTTP.
func TestOpsSettleOtherCodec(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		c := call(t, `{"order":17}`, "ops", "settle", testDigest("gone").String(), "--store", dsn, "--completed", "--codec", "json/1", "--body-file", "-", "--who", "ann", "--why", "seen")
		if c.code != exitDone {
			t.Fatalf("%+v", c)
		}
		out := must(t, "ops", "show", "--store", dsn, testDigest("gone").String(), "--answer")
		if !strings.Contains(out, "codec json/1") || !strings.HasSuffix(out, "\n\n\n"+`{"order":17}`+"\n") {
			t.Errorf("shown:\n%s", out)
		}
	})
}

// What a decision lacks is a mistake of the command line (2); what does not fit the record is refused
// (1). Neither changes anything.
func TestOpsSettleRefused(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		good := []string{"--completed", "--status", "201", "--who", "ann", "--why", "seen"}
		for _, c := range []struct {
			name   string
			digest string
			args   []string
			code   int
			says   string
		}{
			{"no decision", "lost", []string{"--who", "ann", "--why", "seen"}, exitUsage, "either --completed or --retryable"},
			{"both", "lost", append([]string{"--retryable"}, good...), exitUsage, "either"},
			{"nobody", "lost", []string{"--retryable", "--why", "seen"}, exitUsage, "--who"},
			{"no reason", "lost", []string{"--retryable", "--who", "ann"}, exitUsage, "--why"},
			{"no status", "lost", []string{"--completed", "--who", "ann", "--why", "seen"}, exitUsage, "--status"},
			{"status of another world", "lost", append([]string{"--status", "99"}, good[0], "--who", "ann", "--why", "x"), exitUsage, "between 200 and 599"},
			{"answer of what has not happened", "lost", []string{"--retryable", "--status", "201", "--who", "ann", "--why", "x"}, exitUsage, "belong to --completed"},
			{"header without colon", "lost", append([]string{"--header", "Location"}, good...), exitUsage, "Name: value"},
			{"two headers in one", "lost", append([]string{"--header", "A: b\r\nC: d"}, good...), exitUsage, "Name: value"},
			{"cookie", "lost", append([]string{"--header", "Set-Cookie: a=b"}, good...), exitUsage, "never replayed"},
			{"credentials", "lost", append([]string{"--header", "www-authenticate: Basic"}, good...), exitUsage, "never replayed"},
			{"blank decider", "lost", []string{"--retryable", "--who", " ", "--why", "x"}, exitUsage, "--who"},
			{"body of an answer without", "lost", []string{"--completed", "--status", "204", "--body-file", "ops_test.go", "--who", "ann", "--why", "x"}, exitUsage, "no body"},
			{"no file", "lost", append([]string{"--body-file", "/does/not/exist"}, good...), exitFailed, "--body-file"},
			{"other revision", "lost", append([]string{"--revision", "1"}, good...), exitFailed, "it is at 2 now"},
			{"still running", "busy", good, exitFailed, "somebody holds it until"},
			{"completed already", "paid", good, exitFailed, "only an abandoned record"},
			{"unknown", "nobody", good, exitFailed, "no such record"},
		} {
			before := must(t, "ops", "list", "--store", dsn, "--json")
			got := call(t, "", append([]string{"ops", "settle", testDigest(c.digest).String(), "--store", dsn}, c.args...)...)
			if got.code != c.code || !strings.Contains(got.err, c.says) {
				t.Errorf("%s: exit code %d: %s", c.name, got.code, got.err)
			}
			if after := must(t, "ops", "list", "--store", dsn, "--json"); after != before {
				t.Errorf("%s changed:\n%s", c.name, cmp.Diff(before, after))
			}
		}
	})
}

func TestOpsStatsAndPurge(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		var stats struct {
			States map[string]int
			Due    int
		}
		if err := json.Unmarshal([]byte(must(t, "ops", "stats", "--store", dsn, "--json")), &stats); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"claimed": 0, "executing": 1, "completed": 1, "retryable": 0, "abandoned": 2, "expired": 0}
		if diff := cmp.Diff(want, stats.States); diff != "" || stats.Due != 0 {
			t.Errorf("due %d, states %s", stats.Due, diff)
		}
		if out := must(t, "ops", "stats", "--store", dsn); !strings.Contains(out, "abandoned     2\n") {
			t.Errorf("stats:\n%s", out)
		}
		if out := must(t, "ops", "purge", "--store", dsn); out != "deleted 0 records\n" {
			t.Errorf("purge: %s", out)
		}
		if out := must(t, "ops", "purge", "--store", dsn, "--json", "--batch", "1"); out != "{\"deleted\":0}\n" {
			t.Errorf("purge: %s", out)
		}
	})
}

func TestOpsSecretRetire(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		dsn := newRecords(t, at)
		if c := call(t, "", "ops", "secret", "retire", "2", "--store", dsn); c.code != exitFailed || !strings.Contains(c.err, "no version 2") {
			t.Errorf("unknown version: %+v", c)
		}
		if c := call(t, "", "ops", "secret", "retire", "one", "--store", dsn); c.code != exitUsage {
			t.Errorf("not a version: %+v", c)
		}
	})
}

// Looking after a store never makes one, neither of nothing nor of what belongs to somebody else.
func TestOpsNeverCreates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, path string)
		says    string
	}{
		{"nothing", func(*testing.T, string) {}, "reprise store init --new"},
		{"an empty file", func(t *testing.T, path string) { writeFile(t, path, "") }, "reprise store init --new"},
		{"another program's", func(t *testing.T, path string) { sqliteExec(t, path, "CREATE TABLE invoice (id INTEGER)") }, "a database of something else"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "typo.db")
			c.prepare(t, path)
			before := files(t, filepath.Dir(path))
			for _, args := range [][]string{
				{"ops", "list"}, {"ops", "stats"}, {"ops", "purge"}, {"ops", "show", testDigest("x").String()}, {"ops", "secret", "retire", "1"},
				{"ops", "settle", testDigest("x").String(), "--retryable", "--who", "ann", "--why", "x"}, {"migrate", "up"}, {"migrate", "status"},
			} {
				got := call(t, "", append(args, "--store", "sqlite:"+path)...)
				if got.code != exitFailed || !strings.Contains(got.err, c.says) {
					t.Errorf("%v: %+v", args, got)
				}
				if diff := cmp.Diff(before, files(t, filepath.Dir(path))); diff != "" {
					t.Fatalf("%v changed the files:\n%s", args, diff)
				}
			}
		})
	}
}

func TestOpsMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"ops", "lst"}, "list"},
		{[]string{"ops", "show"}, "DIGEST"},
		{[]string{"ops", "list", "--state", "lost"}, "abandoned"},
		{[]string{"ops", "list", "--limit", "-1"}, "--limit"},
		{[]string{"ops", "list", "--store", "mongodb://x"}, "sqlite:"},
		{[]string{"store", "init"}, "--new"},
		{[]string{"config", "explain", "store", "listen"}, "one argument at most"},
		{[]string{"meter", "show"}, "line|family"},
		{[]string{"meter", "import"}, "FILE.csv"},
		{[]string{"restore", "certificate", "1", "2"}, "one argument at most"},
		{[]string{"restore", "undo", "1", "2"}, "one argument at most"},
	} {
		if got := call(t, "", c.args...); got.code != exitUsage || !strings.Contains(got.err, c.says) {
			t.Errorf("%v: %+v", c.args, got)
		}
	}
}

// The environment names the store where no flag does.
func TestOpsStoreFromEnvironment(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, at *site) {
		newRecords(t, at)
		if out := at.must(t, "ops", "stats"); !strings.Contains(out, "abandoned     2\n") {
			t.Errorf("stats:\n%s", out)
		}
		if help := at.must(t, "ops", "stats", "--help"); strings.Contains(help, password) {
			t.Errorf("help prints the password:\n%s", help)
		}
	})
}
