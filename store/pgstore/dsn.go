package pgstore

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultSchema is where the tables are if a DSN names no other schema.
const DefaultSchema = "reprise"

// maxSchemaName leaves room in the name of the channel on which changes are told.
const maxSchemaName = 50

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// address is a DSN, taken apart.
type address struct {
	server  *url.URL // for pgx: without what is ours
	schema  string
	bouncer bool
}

// DSN is a DSN that could be read. Printed, it is without its passwords.
type DSN struct{ address address }

// ParseDSN reads what [Open] takes, and connects to nothing. Its error repeats no password.
func ParseDSN(dsn string) (DSN, error) {
	a, err := parseAddress(dsn)
	if err != nil {
		return DSN{}, err
	}
	_, err = a.poolConfig()
	return DSN{a}, err
}

// Schema is where the tables are.
func (d DSN) Schema() string { return d.address.schema }

func (d DSN) String() string { return d.address.String() }

// parseAddress reads postgres://user:password@host:port/database?schema=…&pgbouncer=1 and whatever else
// pgx understands.
func parseAddress(dsn string) (address, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" {
		// The errors of net/url quote what they could not read, which is mostly a part of the password.
		return address{}, fmt.Errorf("the store's DSN cannot be read, expected postgres://user:password@host/database?schema=%s: "+
			"in a password, write %% / ? # @ : and spaces as %%25 %%2F %%3F %%23 %%40 %%3A %%20", DefaultSchema)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return address{}, fmt.Errorf("the store's DSN begins with %q, expected postgres://user:password@host/database?schema=%s", u.Scheme, DefaultSchema)
	}
	if u.Host == "" && u.Path == "" {
		u.Path = "/" // all is in variables such as PGHOST, and without it the URL would lose its slashes
	}
	a := address{server: u, schema: DefaultSchema}
	query := u.Query()
	if query.Has("schema") {
		a.schema = query.Get("schema")
	}
	if err := checkSchemaName(a.schema); err != nil {
		return address{}, err
	}
	if query.Has("pgbouncer") {
		if a.bouncer, err = strconv.ParseBool(query.Get("pgbouncer")); err != nil {
			return address{}, fmt.Errorf("pgbouncer=%s in the store's DSN: 1 or 0 expected", query.Get("pgbouncer"))
		}
	}
	query.Del("schema")
	query.Del("pgbouncer")
	u.RawQuery = query.Encode()
	return a, nil
}

// checkSchemaName accepts what needs no quotes in SQL.
func checkSchemaName(name string) error {
	if len(name) > maxSchemaName || !schemaName.MatchString(name) {
		return fmt.Errorf("schema %q: a schema's name has 1 to %d lower-case letters, digits and underscores, and does not begin with a digit", name, maxSchemaName)
	}
	return nil
}

// channel is where changes that other processes wait for are told.
func (a address) channel() string { return a.schema + ".changed" }

func (a address) poolConfig() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(a.server.String())
	if err != nil {
		return nil, fmt.Errorf("the store's DSN: %w", err) // pgx hides the password
	}
	return config, nil
}

// String returns the DSN as a person may see it: without a password.
func (a address) String() string {
	u := *a.server
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		query.Del(secret)
	}
	if a.schema != DefaultSchema {
		query.Set("schema", a.schema)
	}
	if a.bouncer {
		query.Set("pgbouncer", "1")
	}
	u.RawQuery = query.Encode()
	return u.String()
}
