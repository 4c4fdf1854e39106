//go:build unix

package servicetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// The users of a server that is started here. They share a password.
const (
	mariadbAdmin = "admin" // has all rights, and gets in when the connections of others are used up
	mariadbUser  = "app"   // has all rights in the databases that are made for tests, and no others
)

// MariaDBOptions say what a server of one's own is like. The zero value is a server whose data is as
// safe as it can be, without TLS.
type MariaDBOptions struct {
	// Settings are set as in a configuration file.
	Settings map[string]string
	// MaxConnections is max_connections; 0 is 151. The administrator has one more.
	MaxConnections int
	// TLS makes the server refuse what is not encrypted. Its DSNs verify it.
	TLS bool
	// Unsafe leaves out the flushes to the disk, which is faster. What was committed survives
	// [MariaDBServer.Kill] all the same; only a machine that loses power would lose it.
	Unsafe bool
	// DiskBytes, if not 0, puts the data onto a disk of its own that has this much left. It can be
	// filled with [MariaDBServer.FillDisk]. This takes root on Linux; else the test is skipped.
	DiskBytes int64
}

// MariaDBServer is a MariaDB server. Its methods may be called by several goroutines; one that fails
// makes the test fail.
type MariaDBServer struct {
	control
	*mariadb
}

// MariaDB returns the server that all tests of this process share, or the one that REPRISE_TEST_MYSQL
// names, which may be MySQL as well. It is not to be stopped or harmed: see [NewMariaDB].
func MariaDB(t testing.TB) *MariaDBServer {
	t.Helper()
	m, err := sharedMariaDB()
	give(t, err)
	m.log.showIfFailed(t, "MariaDB")
	return &MariaDBServer{control: control{t, m.daemon}, mariadb: m}
}

// NewMariaDB starts a server for this test, which ends with it.
func NewMariaDB(t testing.TB, o MariaDBOptions) *MariaDBServer {
	t.Helper()
	if os.Getenv(externalMySQL) != "" {
		give(t, absence{why: "needs a server of its own, but " + externalMySQL + " names one: unset it"})
	}
	m, err := startMariaDB(o)
	give(t, err)
	s := &MariaDBServer{control: control{t, m.daemon}, mariadb: m}
	t.Cleanup(func() { s.check("end", m.end()) })
	m.log.showIfFailed(t, "MariaDB")
	return s
}

// mariadb is a server without a test.
type mariadb struct {
	*daemon
	options  MariaDBOptions
	password string
	port     int
	program  string
	ca       string   // path of the certificate that TLS is verified with
	external *url.URL // of a server that was not started here; there is nothing but the log then
}

// startMariaDB starts a server and waits until it takes connections.
func startMariaDB(o MariaDBOptions) (*mariadb, error) {
	program, err := program("mariadbd")
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	m := &mariadb{daemon: &daemon{kind: "MariaDB", log: newServerLog(), stop: syscall.SIGTERM}, options: o, program: program}
	m.launch = m.startProcess
	if m.folder, err = newFolder("mariadb", "KILL", account); err != nil {
		return nil, err
	}
	if err = m.prepare(); err == nil {
		err = m.open(func(port int) error { m.port = port; return nil })
	}
	if err != nil {
		return nil, errors.Join(err, m.end())
	}
	return m, nil
}

// data is the data folder.
func (m *mariadb) data() string { return filepath.Join(m.mount(), "data") }

// prepare makes the data folder and what else the server reads.
func (m *mariadb) prepare() error {
	if m.options.DiskBytes != 0 {
		if err := m.addDisk(mariadbTemplateBytes + m.options.DiskBytes); err != nil {
			return err
		}
	}
	copied := filepath.Join(m.mount(), "template")
	if err := mariadbTemplate(m.program, m.folder.account).copyTo(copied); err != nil {
		return err
	}
	password, err := os.ReadFile(filepath.Join(copied, "password"))
	if err != nil {
		return err
	}
	m.password = string(password)
	if m.options.TLS {
		if m.ca, err = m.folder.certify(); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(copied, "data"), m.data())
}

func (m *mariadb) startProcess() (*process, error) {
	return m.run(m.answers, m.program, m.arguments()...)
}

// answers reports whether it is this server that answers on the port.
func (m *mariadb) answers(ctx context.Context) error {
	var data string
	err := m.asAdmin(ctx, m.home(), func(conn *sql.DB) error {
		return conn.QueryRowContext(ctx, "SELECT @@datadir").Scan(&data)
	})
	if err == nil && filepath.Clean(data) != m.data() {
		return fmt.Errorf("another server answers on port %d", m.port)
	}
	return err
}

func (m *mariadb) arguments() []string {
	settings := map[string]string{
		"datadir":              m.data(),
		"bind-address":         "127.0.0.1",
		"port":                 strconv.Itoa(m.port),
		"socket":               filepath.Join(m.folder.path, "socket"),
		"pid-file":             filepath.Join(m.folder.path, "pid"),
		"tmpdir":               m.mount(),
		"skip-name-resolve":    "ON",
		"innodb-log-file-size": mariadbLogSize,
	}
	if m.options.MaxConnections != 0 {
		settings["max-connections"] = strconv.Itoa(m.options.MaxConnections)
	}
	if m.options.Unsafe {
		settings["innodb-flush-log-at-trx-commit"] = "2"
		settings["innodb-flush-method"] = "nosync"
	}
	if m.options.DiskBytes != 0 {
		settings["innodb-flush-method"] = "fsync" // a disk in memory has no direct access
	}
	if m.options.TLS {
		settings["require-secure-transport"] = "ON"
		settings["ssl-cert"] = filepath.Join(m.folder.path, certificateFile)
		settings["ssl-key"] = filepath.Join(m.folder.path, keyFile)
	}
	arguments := []string{"--no-defaults"}
	for _, settings := range []map[string]string{settings, m.options.Settings} { // the later counts
		for name, value := range settings {
			arguments = append(arguments, "--"+name+"="+value)
		}
	}
	return arguments
}

// end ends the server and removes all that it had.
func (m *mariadb) end() error {
	kill := func(server *process) error { return server.end(syscall.SIGKILL) }
	return errors.Join(m.quit(kill), m.folder.remove())
}

// address is where the server listens.
func (m *mariadb) address() string {
	if m.external != nil {
		return m.external.Host
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(m.port))
}
