package mysqlstore

import (
	"fmt"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/dsn"
)

// DSN is a DSN that could be read. Printed, it is without its password.
type DSN struct{ address dsn.MySQL }

// ParseDSN reads what [Open] takes, and connects to nothing. Its error repeats no password.
func ParseDSN(text string) (DSN, error) {
	address, err := dsn.ParseMySQL(text)
	if err != nil {
		return DSN{}, fmt.Errorf("the store: %w", err)
	}
	return DSN{address}, nil
}

// Database is where the tables are.
func (d DSN) Database() string { return d.address.Database() }

// String returns the DSN as a person may see it: without a password.
func (d DSN) String() string { return d.address.String() }

// config is the DSN as the driver takes it.
func (d DSN) config() (*mysql.Config, error) { return d.address.Config() }
