//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The roles of a server that is started here. They share a password.
const (
	postgresAdmin = "postgres" // a superuser, which gets in when the connections of others are used up
	postgresUser  = "app"      // owns the databases, and has no other rights
)

// PostgresOptions say what a server of one's own is like. The zero value is a server whose data is as
// safe as it can be, without TLS.
type PostgresOptions struct {
	// Settings are set as in postgresql.conf.
	Settings map[string]string
	// MaxConnections is max_connections; 0 is 100. Three of them are for the administrator.
	MaxConnections int
	// TLS makes the server refuse what is not encrypted. Its DSNs verify it.
	TLS bool
	// Unsafe leaves out fsync, which is faster. What was committed survives [PostgresServer.Kill] all
	// the same; only a machine that loses power would lose it.
	Unsafe bool
	// DiskBytes, if not 0, puts the data onto a disk of its own that has this much left. It can be
	// filled with [PostgresServer.FillDisk]. This takes root on Linux; else the test is skipped.
	DiskBytes int64
}

// PostgresServer is a PostgreSQL server. Its methods may be called by several goroutines; one that fails
// makes the test fail.
type PostgresServer struct {
	control
	*postgres
}

// Postgres returns the server that all tests of this process share, or the one that
// REPRISE_TEST_POSTGRES names. It is not to be stopped or harmed: see [NewPostgres].
func Postgres(t testing.TB) *PostgresServer {
	t.Helper()
	p, err := sharedPostgres()
	give(t, err)
	p.log.showIfFailed(t, "PostgreSQL")
	return &PostgresServer{control: control{t, p.daemon}, postgres: p}
}

// NewPostgres starts a server for this test, which ends with it.
func NewPostgres(t testing.TB, o PostgresOptions) *PostgresServer {
	t.Helper()
	if os.Getenv(externalPostgres) != "" {
		give(t, absence{why: "needs a server of its own, but " + externalPostgres + " names one: unset it"})
	}
	p, err := startPostgres(o)
	give(t, err)
	s := &PostgresServer{control: control{t, p.daemon}, postgres: p}
	t.Cleanup(func() { s.check("end", p.end()) })
	p.log.showIfFailed(t, "PostgreSQL")
	return s
}

// postgres is a server without a test.
type postgres struct {
	*daemon
	options  PostgresOptions
	password string
	port     int
	program  string
	ca       string   // path of the certificate that TLS is verified with
	external *url.URL // of a server that was not started here; there is nothing but the log then
}

// startPostgres starts a server and waits until it takes connections.
func startPostgres(o PostgresOptions) (*postgres, error) {
	program, err := program("postgres")
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	p := &postgres{daemon: &daemon{kind: "PostgreSQL", log: newServerLog(), stop: syscall.SIGINT}, options: o, program: program}
	p.launch = p.startProcess
	if p.folder, err = newFolder("postgres", "QUIT", account); err != nil {
		return nil, err
	}
	if err = p.prepare(); err == nil {
		err = p.open(func(port int) error { p.port = port; return nil })
	}
	if err != nil {
		return nil, errors.Join(err, p.end())
	}
	return p, nil
}

// data is the data folder.
func (p *postgres) data() string { return filepath.Join(p.mount(), "data") }

// prepare makes the data folder and what else the server reads.
func (p *postgres) prepare() error {
	if p.options.DiskBytes != 0 {
		if err := p.addDisk(postgresTemplateBytes + p.options.DiskBytes); err != nil {
			return err
		}
	}
	copied := filepath.Join(p.mount(), "template")
	if err := postgresTemplate(p.program, p.folder.account).copyTo(copied); err != nil {
		return err
	}
	password, err := os.ReadFile(filepath.Join(copied, "password"))
	if err != nil {
		return err
	}
	p.password = string(password)
	if err := os.Rename(filepath.Join(copied, "data"), p.data()); err != nil {
		return err
	}
	kind := "host"
	if p.options.TLS {
		kind = "hostssl"
		if p.ca, err = p.folder.certify(); err != nil {
			return err
		}
	}
	_, err = p.folder.file("hba.conf", kind+" all all 127.0.0.1/32 scram-sha-256\n")
	return err
}

func (p *postgres) startProcess() (*process, error) {
	return p.run(p.answers, p.program, p.arguments()...)
}

// answers reports whether it is this server that answers on the port.
func (p *postgres) answers(ctx context.Context) error {
	var data string
	err := p.asAdmin(ctx, p.home(), func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SHOW data_directory").Scan(&data)
	})
	if err == nil && data != p.data() {
		return fmt.Errorf("another server answers on port %d", p.port)
	}
	return err
}

func (p *postgres) arguments() []string {
	settings := map[string]string{
		"listen_addresses":           "127.0.0.1",
		"port":                       strconv.Itoa(p.port),
		"unix_socket_directories":    "",
		"hba_file":                   filepath.Join(p.folder.path, "hba.conf"),
		"dynamic_shared_memory_type": "mmap", // in the folder, which is removed also after a kill
		"log_line_prefix":            "%m [%p] %d ",
	}
	if p.options.MaxConnections != 0 {
		settings["max_connections"] = strconv.Itoa(p.options.MaxConnections)
	}
	if p.options.Unsafe {
		settings["fsync"] = "off"
		settings["shared_buffers"] = "16MB" // a session is a fork, and tests begin thousands
	}
	if p.options.TLS {
		settings["ssl"] = "on"
		settings["ssl_cert_file"] = filepath.Join(p.folder.path, certificateFile)
		settings["ssl_key_file"] = filepath.Join(p.folder.path, keyFile)
	}
	arguments := []string{"-D", p.data()}
	for _, settings := range []map[string]string{settings, p.options.Settings} { // the later counts
		for name, value := range settings {
			arguments = append(arguments, "-c", name+"="+value)
		}
	}
	return arguments
}

// end ends the server and removes all that it had.
func (p *postgres) end() error {
	quit := func(server *process) error { return server.end(syscall.SIGQUIT) }
	return errors.Join(p.quit(quit), removeSharedMemory(p.data()), p.folder.remove())
}

// address is where the server listens.
func (p *postgres) address() string {
	if p.external != nil {
		return p.external.Host
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port))
}
