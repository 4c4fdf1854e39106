package config

import (
	"strings"
	"testing"
)

// Each mistake is told with its line and what to write instead, all of a file at once.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const orders = "routes:\n- path: /orders\n"
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"unknown key":              {"upstraem: x\n", []string{`f.yaml:1: upstraem: is not known; did you mean "upstream"?`}},
		"unknown nested key":       {"tls:\n  crt: x\n", []string{`f.yaml:2: tls.crt: is not known; did you mean "tls.cert"?`}},
		"unknown key of a route":   {orders + "  leese: 30s\n", []string{`f.yaml:3: leese: is not known; did you mean "lease"?`}},
		"route's key at the top":   {"lease: 30s\n", []string{"f.yaml:1: lease: belongs to routes; write it below `defaults`"}},
		"program's key in a route": {orders + "  listen: 127.0.0.1:1\n", []string{"f.yaml:3: listen: belongs to the whole program; write it at the top"}},
		"path for all":             {"defaults:\n  path: /x\n", []string{"f.yaml:2: path: belongs to one route"}},
		"key twice":                {"listen: 127.0.0.1:1\nlisten: 127.0.0.1:2\n", []string{"f.yaml:2: listen: is there twice; the first is in line 1"}},
		"duration without unit":    {"drain-timeout: 30\n", []string{`f.yaml:1: drain-timeout: "30" has no unit; write 30s`}},
		"no duration":              {"drain-timeout: soon\n", []string{`"soon" is not a duration; write 30s`}},
		"negative duration":        {"drain-timeout: -3s\n", []string{`"-3s" is negative`}},
		"purges all the time":      {"purge-interval: 1ns\n", []string{"f.yaml:1: purge-interval: 1ns is below the least, 1s, and is not 0"}},
		"drains for no time":       {"drain-timeout: 1ms\n", []string{"f.yaml:1: drain-timeout: 1ms is below the least, 100ms"}},
		"upstream has no time":     {orders + "  upstream-timeout: 60us\n", []string{"f.yaml:3: upstream-timeout: 60us is below the least, 10ms"}},
		"store has no time":        {orders + "  command-timeout: 1ms\n", []string{"f.yaml:3: command-timeout: 1ms is below the least, 10ms"}},
		"lease of nothing":         {orders + "  lease: 1ms\n", []string{"f.yaml:3: lease: 1ms is below the least, 30ms"}},
		"nothing replays":          {orders + "  replay-window: 24ms\n", []string{"f.yaml:3: replay-window: 24ms is below the least, 1s"}},
		"nothing is remembered":    {orders + "  retryable-for: 7ns\n", []string{"f.yaml:3: retryable-for: 7ns is below the least, 1s"}},
		"waits for nothing":        {orders + "  duplicates: wait 10ns\n", []string{"f.yaml:3: duplicates: 10ns is below the least, 10ms"}},
		"endless duration":         {"drain-timeout: 999999999d\n", []string{"longer than 292 years"}},
		"no value":                 {"listen:\n", []string{"f.yaml:1: listen: has no value"}},
		"list for a value":         {"listen: [a]\n", []string{"one value is expected"}},
		"value for keys":           {"tls: yes\n", []string{"f.yaml:1: tls: has no keys below it, such as cert"}},
		"no size":                  {"defaults:\n  max-body: 10 apples\n", []string{`f.yaml:2: max-body: "10 apples" is not a size; write 512KiB`}},
		"unknown word":             {"defaults:\n  interruption: quarantaine\n", []string{`did you mean "quarantine"?`}},
		"unknown principal":        {orders + "  principal: autorization\n", []string{`f.yaml:3: principal: "autorization" is not known; did you mean "authorization"?`}},
		"principal without name":   {orders + "  principal: jwt\n", []string{"write jwt:sub"}},
		"jwt without keys":         {orders + "  principal: jwt:sub\n", []string{"f.yaml:3: principal: jwt:sub needs jwt.jwks"}},
		"certificate without CA":   {orders + "  principal: certificate\n", []string{"f.yaml:3: principal: certificate needs tls.client-ca"}},
		"principal is the key":     {orders + "  principal: header:idempotency-key\n", []string{`f.yaml:3: principal: idempotency-key is the header of the key`}},
		"too much is kept":         {orders + "  max-kept-answer: 3GiB\n", []string{"f.yaml:3: max-kept-answer: ", "write 256MiB or less"}},
		"no header name":           {orders + "  principal: header:X User\n", []string{`f.yaml:3: principal: "X User" is not the name of a header`}},
		"operation with a tab":     {orders + "  operation: \"make\\torder\"\n", []string{`f.yaml:3: operation: "make\torder" cannot be a name`}},
		"operation too long":       {orders + "  operation: " + strings.Repeat("o", 257) + "\n", []string{"f.yaml:3: operation:", "longer than 256 bytes"}},
		"header of the guard":      {orders + "  header: reprise-recorded\n", []string{`f.yaml:3: header: "reprise-recorded" has a meaning of its own`}},
		"no pointer":               {orders + "  exclude: [/a, meta/x]\n", []string{`f.yaml:3: exclude: "meta/x" is neither a JSON pointer such as /meta/sentAt nor a query parameter such as ?ts`}},
		"no pointer for all":       {"defaults:\n  exclude: ['?']\n" + orders, []string{`f.yaml:2: exclude: "?" is neither`}},
		"no pointer before":        {orders + "  excluded-before: [[/a], [/~]]\n", []string{`f.yaml:3: excluded-before: "/~" is not a JSON pointer: ~ is written ~0`}},
		"header that is taken out": {orders + "  header: host\n", []string{`f.yaml:3: header: "host" is taken out`}},
		"principal taken out":      {orders + "  principal: header:Transfer-Encoding\n", []string{`f.yaml:3: principal: "Transfer-Encoding" is taken out`}},
		"lease too short":          {orders + "  lease: 3s\n", []string{"f.yaml:3: lease: 3s is below three times command-timeout (2s)", "write 6s or more"}},
		"time-out too long":        {"defaults:\n  command-timeout: 50000d\n" + orders, []string{"f.yaml:2: command-timeout: 50000d is above the most, 10d"}}, // three times it is negative
		"lease too long":           {orders + "  lease: 31d\n", []string{"f.yaml:3: lease: 31d is above the most, 30d"}},
		"window too short":         {orders + "  retry-horizon: 2d\n", []string{"replay-window: 1d is shorter than clients go on retrying (retry-horizon 2d)"}},
		"remembered too short":     {orders + "  replay-window: 14d\n", []string{"remember-until: 7d is shorter than replay-window (14d)", "write 14d or more"}},
		"safe method":              {orders + "  methods: [POST, GET]\n", []string{"GET has no effect to guard"}},
		"method in lower case":     {orders + "  methods: [post]\n", []string{"write POST"}},
		"method in the path":       {"routes:\n- path: POST /orders\n", []string{"write path: /orders and methods: [POST]"}},
		"no path":                  {"routes:\n- operation: x\n", []string{"f.yaml:2: path: is missing"}},
		"a port in a path":         {"routes:\n- path: a.example:8080/x\n", []string{`f.yaml:2: path: "a.example:8080/x" has the port 8080`, "write a.example/x"}},
		"no pattern":               {"routes:\n- path: /{a\n", []string{`f.yaml:2: path: "/{a" is not a pattern`}},
		"same path twice":          {orders + "- path: /orders\n", []string{"f.yaml:3: path: POST /orders conflicts with /orders in line 2"}},
		"same host twice":          {"routes:\n- path: a.example/orders\n- path: A.Example./orders\n", []string{"f.yaml:3: path: POST A.Example./orders conflicts with a.example/orders in line 2"}},
		"conflicting paths":        {"routes:\n- path: /a/{x}\n- path: /{y}/b\n", []string{"f.yaml:3: path: POST /{y}/b conflicts with /a/{x} in line 2"}},
		"status twice":             {orders + "  final: [502]\n  unknown: [502]\n", []string{"f.yaml:4: unknown: 502 is in final too"}},
		"no status":                {orders + "  final: [99]\n", []string{`"99" is not a number between 200 and 599`}},
		"unknown problem":          {orders + "  statuses: {in-progres: 425}\n", []string{`did you mean "in-progress"?`}},
		"certificate without key":  {"tls:\n  cert: c\n", []string{"f.yaml:2: tls.cert: needs tls.key beside it"}},
		"no URL":                   {"upstream: 127.0.0.1:9000\n", []string{"write http://127.0.0.1:9000"}},
		"TLS to http":              {"upstream: http://x\nupstream-tls:\n  ca: c\n", []string{"f.yaml:1: upstream: is http, and upstream-tls is set"}},
		"admin for all":            {"admin-listen: :9090\n", []string{"write 127.0.0.1:9090 for this machine only, or 0.0.0.0:9090"}},
		"duplicates":               {orders + "  duplicates: wait\n", []string{"write refuse, or wait 10s"}},
		"not YAML":                 {"a: b\nc: [\n", []string{"f.yaml:2: not YAML"}},
		"indented too little":      {"a: b\nc:\n  - d: x\n e: f\ng: h\n", []string{"f.yaml:4: not YAML"}},
		"quote that does not end":  {"a: b\nc: d\ne: \"x\n", []string{"f.yaml:3: not YAML"}},
		"two colons":               {"a: b\nc: d: e\nf: g\n", []string{"f.yaml:2: not YAML"}},
		"too large":                {strings.Repeat("#\n", 1<<20), []string{"f.yaml:1: 2097152 bytes"}},
		"not a mapping":            {"- a\n", []string{"f.yaml:1: the configuration is not a mapping"}},
		"two documents":            {"listen: 127.0.0.1:1\n---\nlisten: 127.0.0.1:2\n", []string{"a second document begins here"}},
		"merge":                    {"routes:\n- &a\n  path: /a\n- <<: *a\n  path: /b\n", []string{"<< is not supported"}},
		"endless alias":            {"defaults:\n  exclude: &a [*a]\n", []string{"nested too deep"}},
		"several":                  {"listn: x\ndrain-timeout: 1\n" + orders + "  lease: x\n", []string{"f.yaml:1:", "f.yaml:2:", "f.yaml:5:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			flags := map[string]string{"principal": "none"}
			if !strings.Contains(test.file, "upstream:") {
				flags["upstream"] = "http://127.0.0.1:9000"
			}
			_, err := Load(Sources{File: "f.yaml", YAML: []byte(test.file), Flags: flags})
			if err == nil {
				t.Fatal("no mistake was found")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got:\n%v\nwant in it: %s", err, want)
				}
			}
		})
	}
}

// That a file is not YAML comes before all else, and nothing is said that follows from it.
func TestNotYAMLComesFirst(t *testing.T) {
	t.Parallel()
	from := Sources{
		File: "f.yaml", YAML: []byte("lissten: x\nroutes:\n- path: /a\n foo: [\n"),
		Environ: []string{"REPRISE_DRAIN_TIMEOUT=soon", "REPRISE_METER_BATCH=many", "REPRISE_TLS_CERT=c"}, Flags: map[string]string{"log.level": "x"},
	}
	for _, test := range []struct {
		load func() error
		want []string
	}{
		{func() error { _, err := Load(from); return err }, []string{"f.yaml:4: not YAML: ", "--log-level: ", "REPRISE_DRAIN_TIMEOUT: "}},
		{func() error { _, err := LoadMeter(from, "redis"); return err }, []string{"f.yaml:4: not YAML: ", "--log-level: ", "REPRISE_METER_BATCH: "}},
	} {
		err := test.load()
		if err == nil {
			t.Fatal("no mistake was found")
		}
		got := strings.Split(err.Error(), "\n")
		if len(got) != len(test.want) {
			t.Fatalf("got:\n%v\nwant %d lines", err, len(test.want))
		}
		for i, want := range test.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("line %d is %q, want %s", i+1, got[i], want)
			}
		}
	}
}

// A start without a principal says in two lines how to choose.
func TestNoPrincipal(t *testing.T) {
	t.Parallel()
	_, err := Load(Sources{Flags: map[string]string{"upstream": "http://x"}})
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "--principal authorization") {
		t.Errorf("got:\n%v", err)
	}
	// A route of its own does not need one for all, but the route for everything else does.
	const own = "routes:\n- {path: /a, principal: none}\n"
	from := Sources{File: "f.yaml", YAML: []byte(own), Flags: map[string]string{"upstream": "http://x"}}
	if _, err = Load(from); err == nil {
		t.Error("the route for everything else has no principal, and that was accepted")
	}
	from.YAML = []byte(own + "- {path: /, key: ignored}\n")
	if _, err = Load(from); err != nil {
		t.Errorf("nothing is guarded without a principal: %v", err)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"lease", "lesae", 1}, {"lease", "leases", 1}, {"upstream", "upstraem", 1}, {"abc", "xyz", 3}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) is %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// The parser takes any bytes: it says what is wrong, with a line, or gives what print and load agree on.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(PrintDefault()))
	f.Add([]byte("routes:\n- path: /a/{id}\n  methods: [POST]\n  statuses: {in-progress: 425}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("defaults: {lease: 1d12h, max-body: 3KiB}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Load(Sources{File: "f.yaml", YAML: data, Flags: enough()})
		if err == nil {
			if len(c.Routes) == 0 || c.Upstream == nil {
				t.Fatalf("no mistake, and no configuration: %+v", c)
			}
			for _, r := range c.Routes {
				if r.Key != Ignored && (r.Path == "" || r.Principal == "" || len(r.Methods) == 0 || r.Lease/3 < r.CommandTimeout || r.Remember < r.ReplayWindow) {
					t.Fatalf("accepted a route that makes no sense: %+v", r)
				}
			}
			return
		}
		for _, m := range err.(Mistakes) {
			if m.Text == "" || m.At.Source == "f.yaml" && m.At.Line < 1 {
				t.Fatalf("a mistake without words or line: %+v", m)
			}
		}
	})
}
