package main

import (
	"database/sql"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/httpguard"
	"github.com/reprise-dev/reprise/store/sqlitestore"
)

// withoutSecret makes a database that holds records made under a secret, and removes the secret.
func withoutSecret(t *testing.T, path string) {
	t.Helper()
	up := newUpstream(t, nil)
	p := startProxy(t, filepath.Dir(path), nil, "--upstream", up.URL, "--principal", "none", "--store", "sqlite:"+path)
	p.signal(os.Interrupt)
	if code := p.exit(); code != exitDone {
		t.Fatalf("exit code %d:\n%s", code, p.printed())
	}
	if err := os.Remove(path + ".secret"); err != nil {
		t.Fatal(err)
	}
}

// emptied makes a store and takes everything out of its database, but not its secret.
func emptied(t *testing.T, path string) {
	t.Helper()
	must(t, "store", "init", "--new", "--store", "sqlite:"+path)
	writeFile(t, path, "")
}

// sqliteExec runs a statement on a database, as another program would.
func sqliteExec(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// What cannot work is refused at the start, with the next step, and nothing is changed.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const long = "REPRISE_SECRET=0123456789abcdef0123456789abcdef"
	nothing := func(*testing.T, string) {}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		environ []string
		args    []string // PATH stands for the database's
		code    int
		want    string
	}{
		"no principal":      {nothing, nil, []string{"--upstream", "http://x"}, exitUsage, "--principal authorization"},
		"misspelt variable": {nothing, []string{"REPRISE_UPSTRAEM=http://x"}, []string{"--listen", "everywhere"}, exitUsage, "the variable REPRISE_UPSTRAEM has no meaning here, REPRISE_UPSTREAM has"},
		"no upstream":       {nothing, nil, []string{"--principal", "none"}, exitUsage, "no upstream; say where the service is: --upstream"},
		"unknown flag":      {nothing, nil, []string{"--upstraem", "x"}, exitUsage, "unknown flag: --upstraem"},
		"no configuration":  {nothing, nil, []string{"--config", "missing.yaml"}, exitUsage, "missing.yaml"},
		"unknown store":     {nothing, nil, []string{"--store", "mongodb://u:hunter2@h/db"}, exitUsage, "is not a store of this version; this version has memory:"},
		"no secret for a server": {nothing, nil, []string{"--store", "postgres://u:hunter2@h/db"}, exitUsage,
			`make one, once, with: (umask 077; echo "1 $(openssl rand -base64 32)" >reprise.secret)`},
		"store without kind": {nothing, nil, []string{"--store", "reprise.db"}, exitUsage,
			"did you mean \"sqlite:reprise.db\"?"},
		"not a database": {func(t *testing.T, path string) { writeFile(t, path, strings.Repeat("not a database\n", 100)) }, []string{long}, nil, exitFailed, "not a database"},
		"secret gone":    {withoutSecret, nil, nil, exitFailed, "PATH.secret. Under another one every recorded key looks new"},
		"other secret":   {withoutSecret, []string{long}, nil, exitFailed, "secret does not fit the store"},
		"database gone": {func(t *testing.T, path string) { writeFile(t, path+".secret", "1 AAAA\n") }, nil, nil, exitFailed,
			"reprise store init --new --store sqlite:PATH"},
		"database emptied":                   {emptied, nil, nil, exitFailed, "reprise store init --new --store sqlite:PATH"},
		"database emptied, its secret named": {emptied, nil, []string{"--secret-file", "PATH.secret"}, exitFailed, "restore it from a backup"},
		"database made anew by hand": {func(t *testing.T, path string) {
			emptied(t, path)
			sqliteExec(t, path, "PRAGMA journal_mode = WAL")
		}, nil, nil, exitFailed, "a database without a store"},
		"database of another program": {func(t *testing.T, path string) { sqliteExec(t, path, "CREATE TABLE invoice (id INTEGER)") }, nil, nil, exitFailed,
			"a database of something else"},
		"short secret":     {nothing, []string{"REPRISE_SECRET=short"}, nil, exitUsage, "openssl rand -base64 32"},
		"two secrets":      {nothing, []string{long}, []string{"--secret-file", "PATH.key"}, exitUsage, "two secrets"},
		"no secret file":   {nothing, nil, []string{"--secret-file", "PATH.key"}, exitFailed, "the secret cannot be read"},
		"bad secret file":  {func(t *testing.T, path string) { writeFile(t, path+".key", "1 hunter2\n") }, nil, []string{"--secret-file", "PATH.key"}, exitFailed, "line 1: the secret is not base64"},
		"no certificate":   {nothing, []string{"REPRISE_TLS_CERT=PATH.pem", "REPRISE_TLS_KEY=PATH.pem"}, nil, exitUsage, "tls.cert and tls.key"},
		"no authorities":   {func(t *testing.T, path string) { writeFile(t, path+".pem", "none") }, []string{"REPRISE_UPSTREAM_TLS_CA=PATH.pem"}, []string{"--upstream", "https://x"}, exitUsage, "holds no certificate in PEM"},
		"address in words": {nothing, nil, []string{"--listen", "everywhere"}, exitUsage, "write 127.0.0.1:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "r.db")
			test.prepare(t, path)
			before := files(t, filepath.Dir(path))
			args := []string{"proxy", "--listen", "127.0.0.1:0", "--store", "sqlite:" + path}
			if test.want != "--principal authorization" && !strings.HasPrefix(test.want, "no upstream") {
				args = append(args, "--upstream", "http://127.0.0.1:9", "--principal", "none")
			}
			fill := strings.NewReplacer("PATH", path)
			for _, a := range test.args {
				args = append(args, fill.Replace(a))
			}
			var environ []string
			for _, e := range test.environ {
				environ = append(environ, fill.Replace(e))
			}
			code, out := refusal(t, environ, args...)
			if code != test.code || !strings.Contains(out, fill.Replace(test.want)) {
				t.Errorf("exit code %d, want %d; want %q in:\n%s", code, test.code, fill.Replace(test.want), out)
			}
			if strings.Contains(out, "hunter2") {
				t.Errorf("a password or a secret was printed:\n%s", out)
			}
			for file, text := range files(t, filepath.Dir(path)) {
				if strings.HasSuffix(file, ".db") || strings.HasSuffix(file, ".secret") {
					if was, ok := before[file]; !ok || was != text {
						t.Errorf("%s was made or changed", file)
					}
				}
			}
		})
	}
}

// A start without a principal says in two lines how to choose.
func TestNoPrincipalInTwoLines(t *testing.T) {
	t.Parallel()
	if _, out := refusal(t, nil, "proxy", "--upstream", "http://x"); strings.Count(out, "\n") != 2 {
		t.Errorf("printed:\n%s", out)
	}
}

// So does one on a server without a secret.
func TestNoSecretInTwoLines(t *testing.T) {
	t.Parallel()
	if _, out := refusal(t, nil, "proxy", "--upstream", "http://x", "--principal", "none", "--listen", "127.0.0.1:0", "--store", "postgres://h/d"); strings.Count(out, "\n") != 2 {
		t.Errorf("printed:\n%s", out)
	}
}

// A port that is taken is found before a database is made.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"--listen", "--admin-listen"} {
		path := filepath.Join(t.TempDir(), "r.db")
		code, out := refusal(t, nil, "proxy", "--upstream", "http://x", "--principal", "none", "--store", "sqlite:"+path, "--listen", "127.0.0.1:0", flag, taken.Addr().String())
		if code != exitFailed || !strings.Contains(out, "cannot listen") || exists(path) {
			t.Errorf("%s: exit code %d:\n%s", flag, code, out)
		}
	}
}

// A secret that others can read is refused where the program made it, and warned of where it was told to use it.
func TestSecretForAll(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	path := filepath.Join(t.TempDir(), "r.db")
	must(t, "store", "init", "--new", "--store", "sqlite:"+path)
	if err := os.Chmod(path+".secret", 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--upstream", up.URL, "--principal", "none", "--store", "sqlite:" + path}
	if code, out := refusal(t, nil, append([]string{"proxy", "--listen", "127.0.0.1:0"}, args...)...); code != exitFailed || !strings.Contains(out, "chmod 600 "+path+".secret") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	p := startProxy(t, t.TempDir(), nil, append(args, "--secret-file", path+".secret")...)
	if !strings.Contains(p.printed(), "others on this machine can read the secret file") {
		t.Errorf("printed:\n%s", p.printed())
	}
}

// A database that was made beforehand, and holds nothing yet, gets its secret at the start.
func TestDatabaseMadeBefore(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	path := filepath.Join(t.TempDir(), "r.db")
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	startProxy(t, t.TempDir(), nil, "--upstream", up.URL, "--principal", "none", "--store", "sqlite:"+path)
	if !exists(path + ".secret") {
		t.Error("no secret was made")
	}
}

// The secret of a variable is a secret like any other.
func TestSecretVariable(t *testing.T) {
	t.Parallel()
	up := newUpstream(t, nil)
	dir := t.TempDir()
	args := []string{"--upstream", up.URL, "--principal", "none"}
	secret := []string{"REPRISE_SECRET=0123456789abcdef0123456789abcdef"}
	first := startProxy(t, dir, secret, args...)
	first.post("/", "one", "")
	first.kill()
	if g := startProxy(t, dir, secret, args...).post("/", "one", ""); !g.replayed {
		t.Errorf("got %+v", g)
	}
	if exists(filepath.Join(dir, "reprise.db.secret")) {
		t.Error("a second secret was made")
	}
}

// A check finds what is wrong with the secret that the configuration names, says what to do, and changes nothing.
func TestConfigCheckReadsTheSecret(t *testing.T) {
	t.Parallel()
	const whole = "1 MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n"
	server := []string{"--store", "postgres://h/d"}
	named := []string{"--secret-file", "PATH.key"}
	for name, test := range map[string]struct {
		file, text string // what is written, unless the text is empty
		environ    []string
		args       []string
		want       []string // of the refusal; none: it is no mistake
	}{
		"missing":            {"", "", nil, named, []string{"the secret cannot be read", "PATH.key", "make one with: (umask 077;"}},
		"empty":              {"PATH.key", "\n", nil, named, []string{"PATH.key: ", "no secret: at least one version is needed", "put back the file"}},
		"malformed":          {"PATH.key", "1 hunter2\n", nil, named, []string{"PATH.key: ", "line 1: the secret is not base64", "put back the file"}},
		"too short":          {"PATH.key", "1 AAAA\n", nil, named, []string{"at least 32 random bytes are needed"}},
		"for a server":       {"PATH.key", "1 AAAA\n", nil, append(named, server...), []string{"at least 32 random bytes are needed"}},
		"none for a server":  {"", "", nil, server, []string{"no secret; one is needed for postgres://h/d", "make one, once, with: (umask 077;"}},
		"short variable":     {"", "", []string{"REPRISE_SECRET=hunter2"}, nil, []string{"REPRISE_SECRET has 7 characters"}},
		"two":                {"PATH.key", whole, []string{"REPRISE_SECRET=0123456789abcdef0123456789abcdef"}, named, []string{"there are two secrets"}},
		"beside, malformed":  {"PATH.secret", "1 hunter2\n", nil, nil, []string{"PATH.secret: ", "line 1: the secret is not base64"}},
		"whole":              {"PATH.key", whole, nil, named, nil},
		"whole for a server": {"PATH.key", whole, nil, append(named, server...), nil},
		"whole beside":       {"PATH.secret", whole, nil, nil, nil},
		"none yet":           {"", "", nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "r.db")
			fill := strings.NewReplacer("PATH", path)
			if test.text != "" {
				writeFile(t, fill.Replace(test.file), test.text)
			}
			before := files(t, filepath.Dir(path))
			args := []string{"config", "check", "--upstream", "http://x", "--principal", "none", "--store", "sqlite:" + path}
			for _, a := range test.args {
				args = append(args, fill.Replace(a))
			}
			c := callIn(t, test.environ, "", args...)
			if wrong := len(test.want) > 0; wrong != (c.code == exitUsage) || !wrong && c.code != exitDone {
				t.Errorf("%+v", c)
			}
			for _, want := range test.want {
				if !strings.Contains(c.err, fill.Replace(want)) {
					t.Errorf("want %q in:\n%s", fill.Replace(want), c.err)
				}
			}
			if strings.Contains(c.out+c.err, "hunter2") {
				t.Errorf("a secret was printed: %+v", c)
			}
			if after := files(t, filepath.Dir(path)); !maps.Equal(before, after) {
				t.Errorf("files were %v and are %v", before, after)
			}
		})
	}
}

func TestConfigCommands(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "reprise.yaml")
	writeFile(t, file, must(t, "config", "print-default"))
	if out := must(t, "config", "check", "--config", file, "--upstream", "http://x", "--principal", "none"); !strings.Contains(out, "ok: 127.0.0.1:8080 in front of http://x") {
		t.Errorf("check:\n%s", out)
	}
	if out := must(t, "config", "explain", "lease"); !strings.Contains(out, "REPRISE_LEASE") {
		t.Errorf("explain:\n%s", out)
	}
	if out := must(t, "config", "explain"); !strings.Contains(out, "replay-window") {
		t.Errorf("explain:\n%s", out)
	}
	for key, says := range map[string]string{"leese": `did you mean "lease"?`, "ledger": "docs/meter.md", "nonsense": "`reprise config explain` lists all"} {
		if c := call(t, "", "config", "explain", key); c.code != exitUsage || !strings.Contains(c.err, says) {
			t.Errorf("%s: %+v", key, c)
		}
	}
	if c := call(t, "", "config", "check", "--config", file); c.code != exitUsage || !strings.Contains(c.err, "no upstream") {
		t.Errorf("check: %+v", c)
	}
	// Everything that the configuration lets pass, the parts take too.
	var statuses []string
	for _, problem := range httpguard.ProblemTypes() {
		statuses = append(statuses, problem+": 499")
	}
	writeFile(t, file, "routes: [{path: /, statuses: {"+strings.Join(statuses, ", ")+"}, exclude: [/a/b, '?ts'], excluded-before: [[/a]], final: [502], unknown: [500]}]\n")
	must(t, "config", "check", "--config", file, "--upstream", "http://x", "--principal", "none")
}

// A variable that is misspelt and does no harm is named by a check, too, and not only by the start after it.
func TestCheckNamesAMisspeltVariable(t *testing.T) {
	t.Parallel()
	var out, said strings.Builder
	code := run(t.Context(), []string{"config", "check", "--upstream", "http://x", "--principal", "none"},
		process{Out: &out, Err: &said, Environ: []string{"REPRISE_LEESE=7s"}})
	if code != exitDone || !strings.Contains(said.String(), "REPRISE_LEASE") {
		t.Errorf("exit code %d, printed %q, said %q", code, out.String(), said.String())
	}
}
