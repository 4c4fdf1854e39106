package dsn

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

const mysqlForm = "mysql://user:password@host:3306/database?tls=true"

// The values of tls: encrypted and verified, encrypted, encrypted if the server can, never.
var tlsModes = []string{"true", "skip-verify", "preferred", "false"}

// MySQL is a DSN of MariaDB or MySQL, taken apart.
type MySQL struct {
	user     *url.Userinfo
	host     string // host:port
	database string
	tls      string // one of tlsModes
	ca       string // file; empty: the system's
}

// ParseMySQL reads mysql://user:password@host:3306/database?tls=…&ca=…. Nothing else may be in it.
func ParseMySQL(dsn string) (MySQL, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" {
		return MySQL{}, unreadable(mysqlForm)
	}
	d := MySQL{user: u.User, database: strings.TrimPrefix(u.Path, "/"), tls: "preferred"}
	switch {
	case u.Scheme != "mysql":
		return MySQL{}, fmt.Errorf("the DSN begins with %q, expected %s", u.Scheme, mysqlForm)
	case u.Hostname() == "" || strings.Contains(u.Host, ","):
		return MySQL{}, fmt.Errorf("the DSN names no host, or several: expected %s", mysqlForm)
	case u.User == nil || u.User.Username() == "":
		return MySQL{}, fmt.Errorf("the DSN names no user: expected %s", mysqlForm)
	case d.database == "" || strings.Contains(d.database, "/"):
		return MySQL{}, fmt.Errorf("the DSN names no database, or more than one: expected %s", mysqlForm)
	}
	d.host = u.Host
	if u.Port() == "" {
		d.host = net.JoinHostPort(u.Hostname(), "3306")
	}
	return d, d.readQuery(u)
}

func (d *MySQL) readQuery(u *url.URL) error {
	values, err := Query(u)
	if err != nil {
		return fmt.Errorf("the DSN: %w", err)
	}
	for name, all := range values {
		switch name {
		case "tls":
			d.tls = all[0]
		case "ca":
			d.ca = all[0]
		default:
			return fmt.Errorf("the DSN has %q after the question mark: tls and ca are known", name)
		}
	}
	if !slices.Contains(tlsModes, d.tls) {
		return fmt.Errorf("tls=%s in the DSN: one of %s expected", d.tls, strings.Join(tlsModes, ", "))
	}
	if d.ca != "" && !values.Has("tls") {
		d.tls = "true"
	}
	if d.ca != "" && d.tls != "true" {
		return fmt.Errorf("ca in the DSN is only looked at with tls=true, and there is tls=%s", d.tls)
	}
	return nil
}

// Database is where the tables are.
func (d MySQL) Database() string { return d.database }

// String returns the DSN as a person may see it.
func (d MySQL) String() string {
	u := url.URL{Scheme: "mysql", User: url.User(d.user.Username()), Host: d.host, Path: "/" + d.database}
	query := url.Values{"tls": {d.tls}}
	if d.ca != "" {
		query.Set("ca", d.ca)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Config is the DSN as the driver takes it.
func (d MySQL) Config() (*mysql.Config, error) {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.DBName, c.User = "tcp", d.host, d.database, d.user.Username()
	c.Passwd, _ = d.user.Password()
	c.Timeout = 10 * time.Second // to connect
	c.MultiStatements = true
	c.MaxAllowedPacket = 0 // asks the server
	c.Logger = &mysql.NopLogger{}
	c.TLSConfig = d.tls
	if d.tls != "true" {
		return c, nil
	}
	host, _, err := net.SplitHostPort(d.host)
	if err != nil {
		return nil, fmt.Errorf("the DSN: %w", err)
	}
	c.TLS = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if d.ca == "" {
		return c, nil
	}
	file, err := os.ReadFile(d.ca)
	if err != nil {
		return nil, fmt.Errorf("ca in the DSN: %w", err)
	}
	c.TLS.RootCAs = x509.NewCertPool()
	if !c.TLS.RootCAs.AppendCertsFromPEM(file) {
		return nil, fmt.Errorf("ca in the DSN: %s holds no certificate in PEM", d.ca)
	}
	return c, nil
}
