package dsn

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// DefaultSchema is where tables are if a DSN of PostgreSQL names no other schema.
const DefaultSchema = "reprise"

// maxSchemaName leaves room in names that are made of it.
const maxSchemaName = 50

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// Postgres is a DSN of PostgreSQL, taken apart.
type Postgres struct {
	// Server is the DSN as pgx takes it: without what is ours.
	Server *url.URL
	// Schema is where the tables are. It needs no quotes in SQL.
	Schema string
	// Bouncer says that nothing may be left behind in a session, as a PgBouncer in transaction mode needs it.
	Bouncer bool
}

const postgresForm = "postgres://user:password@host/database?schema=" + DefaultSchema

// ParsePostgres reads postgres://user:password@host:port/database?schema=…&pgbouncer=1 and whatever else pgx
// understands.
func ParsePostgres(dsn string) (Postgres, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" {
		return Postgres{}, unreadable(postgresForm)
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return Postgres{}, fmt.Errorf("the DSN begins with %q, expected %s", u.Scheme, postgresForm)
	}
	if u.Host == "" && u.Path == "" {
		u.Path = "/" // all is in variables such as PGHOST, and without it the URL would lose its slashes
	}
	p := Postgres{Server: u, Schema: DefaultSchema}
	query, err := Query(u)
	if err != nil {
		return Postgres{}, fmt.Errorf("the DSN: %w", err)
	}
	if query.Has("schema") {
		p.Schema = query.Get("schema")
	}
	if err := CheckSchema(p.Schema); err != nil {
		return Postgres{}, err
	}
	if query.Has("pgbouncer") {
		if p.Bouncer, err = strconv.ParseBool(query.Get("pgbouncer")); err != nil {
			return Postgres{}, fmt.Errorf("pgbouncer=%s in the DSN: 1 or 0 expected", query.Get("pgbouncer"))
		}
	}
	query.Del("schema")
	query.Del("pgbouncer")
	u.RawQuery = query.Encode()
	_, err = p.Config()
	return p, err
}

// Query reads the options of a DSN. What net/url would drop without a word, or take the first of, is refused.
func Query(u *url.URL) (url.Values, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil || u.Fragment != "" {
		return nil, errors.New("what follows the question mark cannot be read: write name=value&name=value, and % ; # in a value as %25 %3B %23")
	}
	for name, all := range values {
		if len(all) != 1 {
			return nil, fmt.Errorf("%q is there more than once", name)
		}
	}
	return values, nil
}

// CheckSchema accepts the names of schemas that need no quotes in SQL.
func CheckSchema(name string) error {
	if len(name) > maxSchemaName || !schemaName.MatchString(name) {
		return fmt.Errorf("schema %q: a schema's name has 1 to %d lower-case letters, digits and underscores, and does not begin with a digit", name, maxSchemaName)
	}
	return nil
}

// Config is the DSN as pgx takes it.
func (p Postgres) Config() (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(p.Server.String())
	if err != nil {
		return nil, fmt.Errorf("the DSN: %w", err) // pgx hides the password
	}
	return config, nil
}

// String returns the DSN as a person may see it.
func (p Postgres) String() string {
	u := *p.Server
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	query := u.Query()
	for _, secret := range []string{"password", "sslpassword"} {
		query.Del(secret)
	}
	if p.Schema != DefaultSchema {
		query.Set("schema", p.Schema)
	}
	if p.Bouncer {
		query.Set("pgbouncer", "1")
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// unreadable is the error of what is no URL. The errors of net/url quote what they could not read, which is
// mostly a part of the password.
func unreadable(form string) error {
	return fmt.Errorf("the DSN cannot be read, expected %s: in a password, write %% / ? # @ : and spaces as %%25 %%2F %%3F %%23 %%40 %%3A %%20", form)
}

// ErrStatementMode says what to do about a PgBouncer that has no transactions.
var ErrStatementMode = errors.New("the PgBouncer in between is in statement mode, in which there are no transactions: set pool_mode = transaction for this database")

// StatementMode reports whether an error is how such a PgBouncer refuses a transaction.
func StatementMode(err error) bool {
	return strings.Contains(err.Error(), "not allowed in statement pooling mode")
}
