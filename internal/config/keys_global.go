package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"time"
)

// leastDrain is what a drain-timeout that is not 0 has at least.
const leastDrain = 100 * time.Millisecond

// globalKeys are those that the whole program has once.
func globalKeys() []entry[Config] {
	return []entry[Config]{
		{Key{Name: "upstream", Type: "URL", Flag: true, Needed: true,
			Doc: "The service to put the guard in front of: http://HOST:PORT or https://HOST:PORT, with a path in front of all others if it has one."},
			setUpstream},
		{Key{Name: "listen", Type: "ADDRESS:PORT", Default: "127.0.0.1:8080", Flag: true,
			Doc: "Where clients connect."},
			setAddress(func(c *Config) *string { return &c.Listen }, false)},
		{Key{Name: "store", Type: "DSN", Default: "sqlite:reprise.db", Flag: true,
			Doc: "Where the records are kept. `sqlite:PATH` is one file, which several processes on one machine can share. `postgres://USER@HOST/DATABASE` is a PostgreSQL server, for any number of machines; `?schema=NAME` is where the tables are (default reprise), `?pgbouncer=1` is for a PgBouncer in transaction mode. `mysql://USER@HOST/DATABASE` is MariaDB or MySQL, for any number of machines; `?tls=true` verifies the server, and `?ca=FILE` names the certificate to trust. `redis://USER@HOST/DATABASE`, `redis+sentinel://USER@HOST,HOST/MASTER/DATABASE` and `redis+cluster://USER@HOST,HOST` are Redis, with TLS as `rediss`; `?prefix=TEXT` begins the names of the keys (default reprise:). `memory:` forgets when the process ends. A password does not belong on the command line, which others on the machine can read: put the DSN into this file or into REPRISE_STORE, or the password into PGPASSWORD or a file that PGPASSFILE names. While records move to another store it is a mapping, in the file only: `{primary: DSN, previous: DSN, primary-from: TIME}`. The proxy then looks into the previous store first, and makes new keys in the primary one from an instant on: `primary-from` (RFC 3339), or else two minutes after the first process with both has started. Processes that have the previous store alone answer no new key from then on. See docs/stores.md."},
			setStore},
		{Key{Name: "secret-file", Type: "file", Flag: true,
			Doc: "The secret under which keys are digested: a line `VERSION BASE64 [primary-from=RFC3339]` for each version. Without it REPRISE_SECRET is used, or else, for SQLite, the file beside the database that is created together with it (PATH.secret). A store on a server has no other: there one of the two must be given, the same to every process."},
			setText(func(c *Config) *string { return &c.SecretFile })},
		{Key{Name: "admin-listen", Type: "ADDRESS:PORT", Flag: true,
			Doc: "Where /healthz, /readyz and /metrics are served; nothing else is. Without it they are not. On a loopback address only requests to a loopback name are answered. Another address must be written out, such as 0.0.0.0:9090."},
			setAddress(func(c *Config) *string { return &c.AdminListen }, true)},
		{Key{Name: "drain-timeout", Type: "duration", Default: "30s", Flag: true,
			Doc: "How long requests that run may go on after SIGTERM. What is cut off then is recorded as unknown."},
			setDurationOrNone(func(c *Config) *time.Duration { return &c.DrainTimeout }, leastDrain)},
		{Key{Name: "purge-interval", Type: "duration", Default: "1m",
			Doc: "How often records past their time are deleted, in small batches. They count as absent before that. At least 1s; 0 leaves them."},
			setDurationOrNone(func(c *Config) *time.Duration { return &c.PurgeInterval }, time.Second)},
		{Key{Name: "tls.cert", Type: "file", Doc: "The certificate of the listener, PEM, with its chain. With it and tls.key, clients connect by TLS."},
			setText(func(c *Config) *string { return &c.TLS.Cert })},
		{Key{Name: "tls.key", Type: "file", Doc: "The private key of tls.cert, PEM."},
			setText(func(c *Config) *string { return &c.TLS.Key })},
		{Key{Name: "tls.client-ca", Type: "file",
			Doc: "The authorities whose client certificates are accepted, PEM. A certificate is asked for and verified if one is sent; needed for the principal `certificate`."},
			setText(func(c *Config) *string { return &c.TLS.ClientCA })},
		{Key{Name: "upstream-tls.ca", Type: "file", Doc: "The authorities that the upstream's certificate is checked against, PEM. Without it, the system's."},
			setText(func(c *Config) *string { return &c.UpstreamTLS.CA })},
		{Key{Name: "upstream-tls.cert", Type: "file", Doc: "The certificate that is shown to the upstream, PEM."},
			setText(func(c *Config) *string { return &c.UpstreamTLS.Cert })},
		{Key{Name: "upstream-tls.key", Type: "file", Doc: "The private key of upstream-tls.cert, PEM."},
			setText(func(c *Config) *string { return &c.UpstreamTLS.Key })},
		{Key{Name: "upstream-tls.server-name", Type: "name", Doc: "The name that the upstream's certificate must have, if it is not the host of `upstream`."},
			setText(func(c *Config) *string { return &c.UpstreamTLS.ServerName })},
		{Key{Name: "upstream-tls.danger-accept-any-certificate", Type: "true or false", Default: "false",
			Doc: "Does not check who the upstream is: whoever is in between reads and changes everything. For experiments."},
			setBool(func(c *Config) *bool { return &c.UpstreamTLS.AcceptAny })},
		{Key{Name: "upstream-host", Type: "client or upstream", Default: "client",
			Doc: "Which Host the upstream sees: the one that the client sent, or that of the `upstream` URL."},
			setChoice(func(c *Config) *bool { return &c.ClientHost }, map[string]bool{"client": true, "upstream": false})},
		{Key{Name: "trust-forwarded", Type: "true or false", Default: "false",
			Doc: "Whether X-Forwarded-For, -Host and -Proto of the request are believed: for when another proxy in front sets them. Otherwise they are replaced."},
			setBool(func(c *Config) *bool { return &c.TrustForwarded })},
		{Key{Name: "jwt.jwks", Type: "URL", Doc: "The key set that verifies the tokens of the principal `jwt:CLAIM`."},
			setText(func(c *Config) *string { return &c.JWT.JWKS })},
		{Key{Name: "jwt.issuer", Type: "text", Doc: "The issuer that tokens must name. Without it, any whose key is in the set."},
			setText(func(c *Config) *string { return &c.JWT.Issuer })},
		{Key{Name: "jwt.audience", Type: "text", Doc: "The audience that tokens must name. Without it, any."},
			setText(func(c *Config) *string { return &c.JWT.Audience })},
		{Key{Name: "jwt.leeway", Type: "duration", Default: "0s", Doc: "By how much the issuer's clock may differ."},
			setDuration(func(c *Config) *time.Duration { return &c.JWT.Leeway }, 0)},
		{Key{Name: "log.format", Type: "auto, text or json", Default: "auto", Flag: true,
			Doc: "How log lines look on standard error. auto is text on a terminal and JSON elsewhere."},
			setWord(func(c *Config) *string { return &c.Log.Format }, "auto", "text", "json")},
		{Key{Name: "log.level", Type: "debug, info, warn or error", Default: "info", Flag: true,
			Doc: "What is logged. debug has a line for each guarded request."},
			setWord(func(c *Config) *string { return &c.Log.Level }, "debug", "info", "warn", "error")},
		{Key{Name: "accept-scope-change", Type: "mark",
			Doc: "A reload that would lead the keys of live records elsewhere (another operation name, header or principal for the same requests) is refused, and the refusal names a mark. Writing the mark here accepts exactly that change."},
			setText(func(c *Config) *string { return &c.AcceptScopeChange })},
	}
}

func setUpstream(c *Config, v value) error {
	s, err := v.single()
	if err != nil {
		return err
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a URL; write http://127.0.0.1:9000", s)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return fmt.Errorf("%q is not the URL of an HTTP service; write http://127.0.0.1:9000", s)
	case u.User != nil:
		return errors.New("has a user name in it, which is not sent; leave it out")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fmt.Errorf("%q has a query or a fragment; leave them out", s)
	}
	if port := u.Port(); port != "" && !isPort(port) {
		return fmt.Errorf("%q is not a port", port)
	}
	c.Upstream = u
	return nil
}

// setStore takes a DSN, or the two of a move.
func setStore(c *Config, v value) (err error) {
	c.Store = Store{}
	if v.form != formPairs {
		c.Store.Primary, err = v.single()
		return err
	}
	for _, p := range v.pairs {
		s, err := p.value.single()
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		switch p.name {
		case "primary":
			c.Store.Primary = s
		case "previous":
			c.Store.Previous = s
		case "primary-from":
			if c.Store.From, err = time.Parse(time.RFC3339, s); err != nil {
				return fmt.Errorf("primary-from: %q is not a time such as 2026-01-31T12:00:00Z", s)
			}
		default:
			return fmt.Errorf("has no key %q; write a DSN, or {primary: DSN, previous: DSN}", p.name)
		}
	}
	switch {
	case c.Store.Primary == "" || c.Store.Previous == "":
		return errors.New("has only one store of two; write {primary: DSN, previous: DSN}, or the DSN alone")
	case c.Store.Primary == c.Store.Previous:
		return errors.New("has the same store twice: primary is where records move to, previous where they move from")
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n <= 65535
}

// setAddress takes HOST:PORT. A host that must be written out cannot be left empty for "all".
func setAddress[T any](field func(*T) *string, written bool) func(*T, value) error {
	return func(c *T, v value) error {
		s, err := v.single()
		if err != nil {
			return err
		}
		host, port, err := net.SplitHostPort(s)
		switch {
		case s == "" && written: // none
		case err != nil || !isPort(port):
			return fmt.Errorf("%q is not an address with a port; write 127.0.0.1:8080", s)
		case host == "" && written:
			return fmt.Errorf("%q names no address; write 127.0.0.1:%s for this machine only, or 0.0.0.0:%s for everyone who can reach it", s, port, port)
		}
		*field(c) = s
		return nil
	}
}
