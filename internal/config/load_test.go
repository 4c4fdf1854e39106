package config

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// enough are flags without which nothing starts.
func enough() map[string]string {
	return map[string]string{"upstream": "http://127.0.0.1:9000", "principal": "authorization"}
}

func load(t *testing.T, from Sources) *Config {
	t.Helper()
	c, err := Load(from)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := load(t, Sources{Flags: enough()})
	if len(c.Routes) != 1 {
		t.Fatalf("%d routes, want the one for everything", len(c.Routes))
	}
	want := Route{
		Path: "/", Methods: []string{"POST", "PATCH"}, Key: "optional", Header: "Idempotency-Key", Principal: "authorization",
		Lease: 30 * time.Second, CommandTimeout: 2 * time.Second, UpstreamTimeout: time.Minute,
		ReplayWindow: 24 * time.Hour, Remember: 7 * day, RetryableFor: 7 * day, PolicyRevision: 1,
		Statuses: map[string]int{}, MaxBody: 10 << 20, MaxKept: 2 << 20,
	}
	if diff := cmp.Diff(want, c.Routes[0]); diff != "" {
		t.Errorf("route (-want +got):\n%s", diff)
	}
	if c.Listen != "127.0.0.1:8080" || c.Store.Primary != "sqlite:reprise.db" || c.DrainTimeout != 30*time.Second || !c.ClientHost {
		t.Errorf("got %+v", c)
	}
}

// What print-default prints is the defaults.
func TestPrintDefault(t *testing.T) {
	t.Parallel()
	want := load(t, Sources{Flags: enough()})
	got := load(t, Sources{File: "default.yaml", YAML: []byte(PrintDefault()), Flags: enough()})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-without file +with the printed one):\n%s", diff)
	}
	for _, k := range Keys() {
		_, name, nested := strings.Cut(k.Name, ".")
		if !nested {
			name = k.Name
		}
		if !strings.Contains(PrintDefault(), " "+name+":") && !strings.Contains(PrintDefault(), "\n"+name+":") {
			t.Errorf("%s is not printed", k.Name)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	file := Sources{File: "f.yaml", YAML: []byte(`
upstream: http://file
store: "sqlite:file.db"
listen: 127.0.0.1:1
tls: {cert: c.pem, key: k.pem}
defaults: {principal: none, lease: 11s, methods: [PUT], exclude: []}
routes:
- path: /own
  lease: 44s
`)}
	file.Environ = []string{"REPRISE_STORE=sqlite:env.db", "REPRISE_LISTEN=127.0.0.1:2", "REPRISE_LEASE=22s", "REPRISE_TLS_CERT=e.pem",
		"REPRISE_EXCLUDE=/a, ?b", "REPRISE_HEADER=", "OTHER=1"}
	file.Flags = map[string]string{"listen": "127.0.0.1:3", "principal": "authorization"}
	c := load(t, file)
	got := []string{c.Upstream.String(), c.Store.Primary, c.Listen, c.TLS.Cert, c.TLS.Key}
	if diff := cmp.Diff([]string{"http://file", "sqlite:env.db", "127.0.0.1:3", "e.pem", "k.pem"}, got); diff != "" {
		t.Error(diff)
	}
	own, rest := c.Routes[0], c.Routes[1]
	if own.Lease != 44*time.Second || rest.Lease != 22*time.Second {
		t.Errorf("leases %v and %v; want the route's own 44s, and the variable's 22s", own.Lease, rest.Lease)
	}
	if own.Principal != "authorization" || own.Methods[0] != "PUT" || own.Header != "Idempotency-Key" {
		t.Errorf("route does not inherit: %+v", own)
	}
	if diff := cmp.Diff([]string{"/a", "?b"}, rest.Exclude); diff != "" {
		t.Error(diff)
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	c := load(t, Sources{File: "f.yaml", Flags: enough(), YAML: []byte(`
routes:
- path: /orders/{id}
  operation: order
  methods: POST
  key: required
  header: X-Key
  spelling: strict
  principal: header:X-User
  exclude: [/sentAt, "?ts"]
  excluded-before: [[/sentAt], []]
  lease: 1d12h
  replay-window: 12h
  remember-until: 14d
  interruption: rerun
  duplicates: wait 10s
  store-down: open
  final: [502, 429]
  no-effect: [423]
  unknown: 500
  statuses: {in-progress: 425}
  max-body: 64KiB
  max-kept-answer: 1MB
  upstream-timeout: 0
  policy-revision: 3
- path: /
  key: ignored
`)})
	want := Route{
		Path: "/orders/{id}", Operation: "order", Methods: []string{"POST"}, Key: Required, Header: "X-Key", Strict: true,
		Principal: "header:X-User", Exclude: []string{"/sentAt", "?ts"}, ExcludedBefore: [][]string{{"/sentAt"}, nil},
		Lease: 36 * time.Hour, CommandTimeout: 2 * time.Second, ReplayWindow: 12 * time.Hour, Remember: 14 * day, RetryableFor: 7 * day,
		PolicyRevision: 3, Rerun: true, Wait: 10 * time.Second, FailOpen: true,
		Final: []int{502, 429}, NoEffect: []int{423}, Unknown: []int{500}, Statuses: map[string]int{"in-progress": 425},
		MaxBody: 64 << 10, MaxKept: 1e6,
	}
	if diff := cmp.Diff(want, c.Routes[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(c.Routes) != 2 || c.Routes[1].Key != Ignored {
		t.Errorf("the file has a route for everything, and got %+v", c.Routes[1:])
	}
}

func TestMistakesHaveTheirType(t *testing.T) {
	t.Parallel()
	_, err := Load(Sources{})
	var mistakes Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) != 2 {
		t.Fatalf("got %v, want two mistakes: upstream and principal", err)
	}
}

func TestMisspeltVariables(t *testing.T) {
	t.Parallel()
	got := Misspelt([]string{"REPRISE_LISTN=1", "REPRISE_LISTEN=1", "REPRISE_PORT_8080_TCP=x", "REPRISE_SECRET=x", "LISTN=1"})
	if diff := cmp.Diff(map[string]string{"REPRISE_LISTN": "REPRISE_LISTEN"}, got); diff != "" {
		t.Error(diff)
	}
}

// The store is one, or the two of a move.
func TestStores(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Store{
		"redis://r/0":                   {Primary: "redis://r/0"},
		"{primary: a:1, previous: b:2}": {Primary: "a:1", Previous: "b:2"},
		"{primary: \"a:1\", previous: \"b:2\", primary-from: 2026-01-31T12:00:00Z}": {Primary: "a:1", Previous: "b:2", From: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
	} {
		c := load(t, Sources{YAML: []byte("upstream: http://u\ndefaults: {principal: none}\nstore: " + text), File: "reprise.yaml"})
		if c.Store != want {
			t.Errorf("%s is %+v", text, c.Store)
		}
	}
	for text, want := range map[string]string{
		"{primary: a:1}":                                 "only one store of two",
		"{primary: a:1, previous: a:1}":                  "the same store twice",
		"{primary: a:1, previous: b:2, from: x}":         "no key \"from\"",
		"{primary: a:1, previous: b:2, primary-from: x}": "is not a time",
		"[a:1, b:2]": "one value is expected",
	} {
		_, err := Load(Sources{YAML: []byte("upstream: http://u\ndefaults: {principal: none}\nstore: " + text), File: "reprise.yaml"})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
