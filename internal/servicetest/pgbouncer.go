//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// PoolMode says when PgBouncer gives a server connection to another client.
type PoolMode string

// The modes of PgBouncer.
const (
	PoolSession     PoolMode = "session"     // when the client disconnects
	PoolTransaction PoolMode = "transaction" // after each transaction: sessions have no state then
	PoolStatement   PoolMode = "statement"   // after each statement: there are no transactions then
)

// bouncerPool is how many server connections a PgBouncer has for each database.
const bouncerPool = 10

// PgBouncer puts a PgBouncer in front of a database, for this test, and returns the DSN of the same
// database through it. It opens at most 10 connections to the server, which are shared as mode says.
// The server may be behind a proxy, and must not want TLS.
func PgBouncer(t testing.TB, dsn string, mode PoolMode) string {
	t.Helper()
	server, err := url.Parse(dsn)
	give(t, err)
	path, err := program("pgbouncer")
	give(t, err)
	account, err := unprivileged()
	give(t, err)
	f, err := newFolder("pgbouncer", "TERM", account)
	give(t, err)
	t.Cleanup(func() {
		if err := f.remove(); err != nil {
			t.Errorf("servicetest: PgBouncer: %v", err)
		}
	})

	log := newServerLog()
	log.showIfFailed(t, "PgBouncer")
	var p *process
	for range 5 { // somebody else may take the port meanwhile
		if p, err = startBouncer(f, log, path, server, mode); err == nil {
			break
		}
	}
	give(t, err)
	t.Cleanup(func() {
		if err := p.end(syscall.SIGTERM); err != nil {
			t.Errorf("servicetest: PgBouncer: %v", err)
		}
	})
	return server.String()
}

// startBouncer starts a PgBouncer and changes the host of server to its address.
func startBouncer(f *folder, log *serverLog, path string, server *url.URL, mode PoolMode) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	password, _ := server.User.Password()
	users, err := f.file("users.txt", fmt.Sprintf("%q %q\n", server.User.Username(), password))
	if err != nil {
		return nil, err
	}
	config, err := f.file("pgbouncer.ini", bouncerConfig(server, port, users, mode))
	if err != nil {
		return nil, err
	}
	p, err := startProcess(f, log, path, config)
	if err != nil {
		return nil, err
	}
	front := *server
	front.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	err = p.ready(func(ctx context.Context) error {
		conn, err := pgx.Connect(ctx, front.String())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if err != nil {
		return nil, errors.Join(err, p.kill())
	}
	*server = front
	return p, nil
}

func bouncerConfig(server *url.URL, port int, users string, mode PoolMode) string {
	return strings.Join([]string{
		"[databases]",
		fmt.Sprintf("* = host=%s port=%s", server.Hostname(), server.Port()),
		"[pgbouncer]",
		"listen_addr = 127.0.0.1",
		fmt.Sprintf("listen_port = %d", port),
		"unix_socket_dir =",
		"auth_type = scram-sha-256",
		"auth_file = " + users,
		"pool_mode = " + string(mode),
		"max_client_conn = 1000",
		fmt.Sprintf("default_pool_size = %d", bouncerPool),
		"",
	}, "\n")
}
