package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
)

// server is a server of the demonstration. It ends at the latest when this process does: a shell that runs it waits for the end of a
// pipe.
type server struct {
	child *child
	dsn   string
}

// empty removes all that a Redis has.
func (s *server) empty(ctx context.Context) error {
	at, err := url.Parse(s.dsn)
	if err != nil {
		return err
	}
	password, _ := at.User.Password()
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }() // what matters was answered
	if _, err := fmt.Fprintf(connection, "AUTH %s\r\nFLUSHALL\r\n", password); err != nil {
		return err
	}
	answers := bufio.NewScanner(connection)
	for range 2 {
		if !answers.Scan() || answers.Text() != "+OK" {
			return fmt.Errorf("the Redis of the demonstration was not emptied: %q, %w", answers.Text(), answers.Err())
		}
	}
	return nil
}

// keptByPipe runs a program until standard input ends.
const keptByPipe = `"$@" </dev/null & cat >/dev/null; kill -9 $!; wait $!`

func (s *server) stop() {
	if s != nil && s.child != nil {
		_ = s.child.stdin.Close()
		<-s.child.ended
	}
}

// startServer starts a program, and waits until it accepts connections.
func startServer(ctx context.Context, name, dir, address, program string, args ...string) (*server, error) {
	c := &child{name: name, log: filepath.Join(dir, name+".log"), ended: make(chan struct{})}
	out, err := os.OpenFile(c.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the child has it
	c.cmd = exec.Command("/bin/sh", append([]string{"-c", keptByPipe, "sh", program}, args...)...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = dir, out, out
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		_ = c.cmd.Wait() // how it ended is in its log
	}()
	s := &server{child: c}
	if err := c.accepts(ctx, address); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// programs are the servers' programs on this machine.
type programs struct{ redis, mariadb, mariadbInstall string }

// findPrograms finds the servers' programs, also where they are kept from the path of users, and names all that are missing.
func findPrograms() (p programs, err error) {
	var missing []string
	for _, need := range []struct {
		to           *string
		name, packet string
	}{
		{&p.redis, "redis-server", "redis-server"}, {&p.mariadb, "mariadbd", "mariadb-server"}, {&p.mariadbInstall, "mariadb-install-db", "mariadb-server"},
	} {
		if *need.to = findProgram(need.name); *need.to == "" && !slices.Contains(missing, need.packet) {
			missing = append(missing, need.packet)
		}
	}
	if len(missing) > 0 {
		return p, fmt.Errorf("the demonstration starts a Redis and a MariaDB of its own, and there is no %s here: on Debian, apt-get install %s",
			strings.Join(missing, " and no "), strings.Join(missing, " "))
	}
	return p, nil
}

func findProgram(name string) string {
	for _, at := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if path, err := exec.LookPath(at); err == nil {
			return path
		}
	}
	return ""
}

func startDemoRedis(ctx context.Context, dir, program string) (*server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(address)
	password, file := rand.Text(), filepath.Join(dir, "redis.conf")
	text := fmt.Sprintf("bind %s\nport %s\ndir %s\nsave \"\"\nappendonly no\nmaxmemory-policy noeviction\nrequirepass %s\n", host, port, dir, password)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	s, err := startServer(ctx, "redis", dir, address, program, file)
	if err == nil {
		s.dsn = "redis://:" + password + "@" + address + "/0"
	}
	return s, err
}

//go:embed meterdemo.sql
var mariadbUsers string

func startDemoMariaDB(ctx context.Context, dir string, found programs) (*server, error) {
	self, err := user.Current()
	if err != nil {
		return nil, err
	}
	password, data, users := rand.Text(), filepath.Join(dir, "mariadb"), filepath.Join(dir, "users.sql")
	if err := os.WriteFile(users, []byte(strings.ReplaceAll(mariadbUsers, "PASSWORD", password)), 0o600); err != nil {
		return nil, err
	}
	var printed bytes.Buffer
	install := exec.CommandContext(ctx, found.mariadbInstall, "--no-defaults", "--datadir="+data, "--extra-file="+users, "--user="+self.Username,
		"--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve", "--innodb-log-file-size=16M")
	install.Stdout, install.Stderr = &printed, &printed
	if err := install.Run(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w: %s", err, strings.TrimSpace(printed.String()))
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(address)
	s, err := startServer(ctx, "mariadb", dir, address, found.mariadb, "--no-defaults", "--datadir="+data, "--user="+self.Username, "--bind-address="+host, "--port="+port,
		"--socket="+filepath.Join(dir, "mariadb.sock"), "--pid-file="+filepath.Join(dir, "mariadb.pid"), "--skip-name-resolve", "--innodb-log-file-size=16M",
		"--innodb-flush-log-at-trx-commit=2")
	if err == nil {
		s.dsn = "mysql://meter:" + password + "@" + address + "/meter?tls=false"
	}
	return s, err
}
