package pgstore

import (
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// DefaultSchema is where the tables are if a DSN names no other schema.
const DefaultSchema = dsn.DefaultSchema

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
	return DSN{a}, err
}

// Schema is where the tables are.
func (d DSN) Schema() string { return d.address.schema }

func (d DSN) String() string { return d.address.String() }

// parseAddress reads postgres://user:password@host:port/database?schema=…&pgbouncer=1 and whatever else
// pgx understands.
func parseAddress(text string) (address, error) {
	p, err := dsn.ParsePostgres(text)
	if err != nil {
		return address{}, fmt.Errorf("the store: %w", err)
	}
	return address{p.Server, p.Schema, p.Bouncer}, nil
}

// channel is where changes that other processes wait for are told.
func (a address) channel() string { return a.schema + ".changed" }

func (a address) parsed() dsn.Postgres {
	return dsn.Postgres{Server: a.server, Schema: a.schema, Bouncer: a.bouncer}
}

func (a address) poolConfig() (*pgxpool.Config, error) { return a.parsed().Config() }

// String returns the DSN as a person may see it: without a password.
func (a address) String() string { return a.parsed().String() }
