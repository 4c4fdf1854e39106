package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A password can come from each place where PostgreSQL's own programs look for it, and is printed by none.
func TestPasswordOfAServer(t *testing.T) {
	t.Parallel()
	at := newPostgresSite(t)
	up := newUpstream(t, nil)
	without := at.at(t, func(u *url.URL) { u.User = url.User(u.User.Username()) })
	server, err := pgx.ParseConfig(at.dsn)
	if err != nil {
		t.Fatal(err)
	}
	passwords, config := filepath.Join(at.dir, "passwords"), filepath.Join(at.dir, "reprise.yaml")
	writeFile(t, passwords, fmt.Sprintf("%s:%d:*:%s:%s\n", server.Host, server.Port, server.User, server.Password))
	writeFile(t, config, fmt.Sprintf("store: %q\n", at.dsn))
	for name, environ := range map[string][]string{
		"PGPASSWORD":         append(without.environ, "PGPASSWORD="+server.Password),
		"PGPASSFILE":         append(without.environ, "PGPASSFILE="+passwords),
		"configuration file": {"REPRISE_CONFIG=" + config, "REPRISE_SECRET_FILE=" + at.secret},
		"REPRISE_STORE":      at.environ,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, at.dir, environ, "--upstream", up.URL, "--principal", "none")
			if g := p.post("/orders", quote(name), "book"); g.status != 200 || g.replayed {
				t.Errorf("got %+v", g)
			}
			check := callIn(t, environ, "", "config", "check", "--upstream", up.URL, "--principal", "none")
			if check.code != exitDone || !strings.Contains(check.out, "records in postgres://"+server.User+"@") {
				t.Errorf("config check: %+v", check)
			}
			if all := p.printed() + check.out + check.err; strings.Contains(all, server.Password) {
				t.Errorf("printed the password:\n%s", all)
			}
		})
	}
}
