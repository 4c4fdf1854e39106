package config

import (
	"os"
	"strings"
	"testing"
	"time"
)

// A mistake in the meter's file is told with its line and what to write instead.
func TestMeterMistakes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, want string }{
		"unknown key":          {"retension: 7d\n", `m.yaml:1: retension: is not known; did you mean "retention"?`},
		"nested":               {"log:\n  lvl: info\n", `m.yaml:2: log.lvl: is not known; did you mean "log.level"?`},
		"a key of the proxy":   {"upstream: http://x\n", "m.yaml:1: upstream: is not known"},
		"twice":                {"anchor: 1\nanchor: 2\n", "m.yaml:2: anchor: is there twice; the first is in line 1"},
		"no zone":              {"zone: Europe/Berlinn\n", `m.yaml:1: zone: "Europe/Berlinn" is not a time zone; write one such as Europe/Berlin`},
		"the machine's zone":   {"zone: Local\n", "it has to be the same on every machine"},
		"no day":               {"anchor: 32\n", `m.yaml:1: anchor: "32" is not a number from 1 to 31`},
		"fraction":             {"batch: 1.5\n", `"1.5" is not a number from 1 to 10000`},
		"retention":            {"retention: 30m\n", "m.yaml:1: retention: 30m is below the least, 1h"},
		"waits for nothing":    {"max-wait: 10us\n", "m.yaml:1: max-wait: 10us is below the least, 10ms, and is not 0"},
		"long retention":       {"retention: 500d\n", "m.yaml:1: retention: 500d is more than 400d"},
		"tolerance":            {"\ntolerance: 3d\n", "m.yaml:2: tolerance: 3d is more than 2d"},
		"small streams":        {"stream-limit: 10\n", "is not a number from 10000"},
		"neither true nor not": {"durable: yes\n", `m.yaml:1: durable: "yes" is not known`},
		"address":              {"listen: 8081\n", "is not an address with a port"},
		"what is needed":       {"anchor: 1\n", "no redis; say it with --redis, REPRISE_METER_REDIS, or `redis:` in the file"},
	} {
		_, err := LoadMeter(Sources{File: "m.yaml", YAML: []byte(test.file)}, "redis")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// A flag goes before a variable, a variable before the file, the file before the default.
func TestMeterSources(t *testing.T) {
	t.Parallel()
	c, err := LoadMeter(Sources{
		File: "m.yaml", YAML: []byte("redis: redis://file\nledger: file\nzone: Europe/Berlin\nbatch: 5\n"),
		Environ: []string{"REPRISE_METER_LEDGER=variable", "REPRISE_METER_BATCH=6", "REPRISE_LISTEN=127.0.0.1:1"},
		Flags:   map[string]string{"batch": "7"},
	}, "redis", "ledger")
	if err != nil {
		t.Fatal(err)
	}
	if c.Redis != "redis://file" || c.Ledger != "variable" || c.Batch != 7 || c.Zone.String() != "Europe/Berlin" ||
		c.Retention != 7*24*time.Hour || c.Listen != "127.0.0.1:8081" || c.Anchor != 1 || c.Durable {
		t.Errorf("%+v", c)
	}
}

// docs/meter.md has the table of the program.
func TestMeterDocs(t *testing.T) {
	t.Parallel()
	const page, begin, end = "../../docs/meter.md", "<!-- The table is written by: go test ./internal/config -run TestMeterDocs -write-docs -->\n\n", "\n<!-- end of the table -->"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	table, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("the page has no lines %q and %q", begin, end)
	}
	if *writeDocs {
		if err := os.WriteFile(page, []byte(head+begin+MeterMarkdown()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != MeterMarkdown() {
		t.Error("docs/meter.md is not what the program does; run: go test ./internal/config -run TestMeterDocs -write-docs")
	}
}
