package pgstore

import (
	"errors"
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

// parseAddress reads postgres://user:password@host:port/database?schema=…&pgbouncer=1 and whatever else
// pgx understands.
func parseAddress(dsn string) (address, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		// The error of net/url quotes the whole DSN, with its password.
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return address{}, fmt.Errorf("the store's DSN cannot be read, expected postgres://user:password@host/database?schema=%s: %w", DefaultSchema, err)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return address{}, fmt.Errorf("the store's DSN begins with %q, expected postgres://user:password@host/database?schema=%s", u.Scheme, DefaultSchema)
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
