package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/config"
)

// What an operator settles is kept as long as what the proxy completes on the same route, so that the key is not new again earlier
// than the clients of that route were told.
func TestOpsSettleKeepsAsTheRouteDoes(t *testing.T) {
	t.Parallel()
	happened := []string{"--completed", "--status", "201"}
	not := []string{"--retryable"}
	routes := "upstream-host: upstream\n" + // neither upstream nor principal: the proxy has them from its command line
		"defaults: {replay-window: 30h, remember-until: 60d, retryable-for: 9d}\n" +
		"routes:\n  - {path: /refunds, remember-until: 90d}\n  - {path: /pay, operation: pay}\n"
	for name, c := range map[string]struct {
		file, key        string
		environ, args    []string
		window, remember string // empty: none
		says             string
	}{
		"without a file":   {"", "lost", nil, happened, "1d", "7d", "--config"},
		"a variable":       {"", "lost", []string{"REPRISE_REMEMBER_UNTIL=8d"}, happened, "1d", "8d", "REPRISE_REMEMBER_UNTIL"},
		"a route":          {routes, "gone", nil, happened, "30h", "90d", "route /refunds"},
		"everything else":  {routes, "lost", nil, happened, "30h", "60d", "route /"},
		"not happened":     {routes, "gone", nil, not, "", "9d", "route /refunds"},
		"said":             {routes, "gone", nil, append([]string{"--replay-window", "2d", "--remember", "3d"}, happened...), "2d", "3d", "--remember"},
		"said in part":     {routes, "gone", nil, append([]string{"--replay-window", "100d"}, happened...), "100d", "100d", "--replay-window"},
		"a variable names": {routes, "gone", []string{"REPRISE_CONFIG"}, happened, "30h", "90d", "route /refunds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := newFileSite(t)
			args := append([]string{"ops", "settle", testDigest(c.key).String(), "--store", newRecords(t, at), "--who", "ann", "--why", "seen"}, c.args...)
			if c.file != "" {
				file := filepath.Join(at.dir, "reprise.yaml")
				writeFile(t, file, c.file)
				if len(c.environ) > 0 {
					c.environ = []string{c.environ[0] + "=" + file}
				} else {
					args = append(args, "--config", file)
				}
			}
			got := callIn(t, c.environ, "", args...)
			if got.code != exitDone || !strings.Contains(got.out+got.err, c.says) {
				t.Fatalf("%+v", got)
			}
			var s shown
			if err := json.Unmarshal([]byte(must(t, "ops", "show", "--store", at.dsn, testDigest(c.key).String(), "--json")), &s); err != nil {
				t.Fatal(err)
			}
			for which, until := range map[string]time.Time{c.window: s.WindowEnd, c.remember: s.RememberUntil} {
				if which == "" != until.IsZero() || which != "" && config.Spell(until.Sub(s.Finished)) != which {
					t.Errorf("from %v until %v, want %s", s.Finished, until, which)
				}
				if which != "" && !strings.Contains(got.out, moment(until)+"  "+which) {
					t.Errorf("%s until %v is not in:\n%s", which, until, got.out)
				}
			}
		})
	}
}

// A file that knows nothing of the operation, or of which store is meant, is no reason to guess.
func TestOpsBesideAProxy(t *testing.T) {
	t.Parallel()
	at := newFileSite(t)
	newRecords(t, at)
	file := filepath.Join(at.dir, "reprise.yaml")
	settle := []string{"ops", "settle", testDigest("lost").String(), "--config", file, "--retryable", "--who", "ann", "--why", "seen"}
	for _, c := range []struct{ text, says string }{
		{"store: " + at.dsn + "\nroutes: [{path: /, key: ignored}]\n", `no route of ` + file + ` has the operation "POST /orders"`},
		{"store: {primary: \"sqlite:" + at.dir + "/other.db\", previous: \"" + at.dsn + "\"}\n", "names two stores"},
		{"store: sqlite:" + at.dir + "/other.db\n", "other.db"},
		{"lease: no\n", file + ":1"},
	} {
		writeFile(t, file, c.text)
		if got := call(t, "", settle...); got.code == exitDone || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v", c.text, got)
		}
	}
	if n := strings.Count(must(t, "ops", "list", "--config", file, "--store", at.dsn, "--json", "--state", "abandoned"), "\n"); n != 2 {
		t.Errorf("%d records are abandoned after refusals, want 2", n)
	}
	writeFile(t, file, "store: "+at.dsn+"\n")
	if n := strings.Count(must(t, "ops", "list", "--config", file, "--json", "--state", "abandoned"), "\n"); n != 2 {
		t.Errorf("the store of the file has %d abandoned records, want 2", n)
	}
	must(t, settle...)
}
