//go:build unix

package servicetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// RedisOptions say what a server of one's own is like. The zero value is a server whose data is as safe
// as it can be, without TLS.
type RedisOptions struct {
	// Settings are set as in redis.conf: {"maxmemory": "10mb", "maxmemory-policy": "noeviction"}. They
	// count more than what the other options stand for.
	Settings map[string]string
	// Users are users beside those of every server: a name and its rules as in ACL SETUSER, such as
	// "~orders:* +@read". They have the same password. See [RedisServer.UserDSN].
	Users map[string]string
	// Persistence says what the server still has after it was killed.
	Persistence Persistence
	// TLS makes the server refuse what is not encrypted.
	TLS bool
	// DiskBytes, if not 0, puts the data onto a disk of its own of this size. It can be filled with
	// FillDisk. This takes root on Linux; else the test is skipped.
	DiskBytes int64
	// Clock gives the server a clock that can be put forward: see [RedisServer.Advance]. This takes Linux
	// and a C compiler; else the test is skipped.
	Clock bool
}

// RedisServer is a Redis server. Its methods may be called by several goroutines; one that fails makes
// the test fail.
type RedisServer struct {
	control
	*redis
}

// Redis returns the server that all tests of this process share, or the one that REPRISE_TEST_REDIS
// names. It keeps nothing on disk. A test has a [RedisServer.Database] in it, and must not stop, flush
// or harm it: see [NewRedis].
func Redis(t testing.TB) *RedisServer {
	t.Helper()
	r, err := sharedRedis()
	give(t, err)
	r.log.showIfFailed(t, r.kind)
	return &RedisServer{control: control{t, r.daemon}, redis: r}
}

// NewRedis starts a server for this test, which ends with it.
func NewRedis(t testing.TB, o RedisOptions) *RedisServer {
	t.Helper()
	ownRedis(t)
	r, err := startRedis(o, redisRole{})
	return ownedRedis(t, r, err)
}

// ownRedis ends a test that needs servers of its own where there cannot be any.
func ownRedis(t testing.TB) {
	t.Helper()
	if os.Getenv(externalRedis) != "" {
		give(t, absence{why: "needs a server of its own, but " + externalRedis + " names one: unset it"})
	}
}

// ownedRedis is a server that ends with the test.
func ownedRedis(t testing.TB, r *redis, err error) *RedisServer {
	t.Helper()
	give(t, err)
	s := &RedisServer{control: control{t, r.daemon}, redis: r}
	t.Cleanup(func() { s.check("end", r.end()) })
	r.log.showIfFailed(t, r.kind+" on "+r.address())
	return s
}

// redis is a server without a test.
type redis struct {
	*daemon
	options  RedisOptions
	role     redisRole
	secrets  redisSecrets
	program  string
	port     int
	clock    *clock   // nil: that of the machine
	external *url.URL // of a server that was not started here; there is nothing but the log then
}

// redisRole is what a server is to others.
type redisRole struct {
	sentinel bool
	bus      bool          // it listens for other servers too, on a port busDistance above its own
	lines    []string      // more of its configuration
	secrets  *redisSecrets // those of the servers that it belongs to; nil: it belongs to none
}

// busDistance is where the servers of a cluster listen for each other, as seen from the port for clients.
const busDistance = 10000

// redisSecrets are what servers that belong together share.
type redisSecrets struct {
	password     string
	certificates string // the folder of the files of certify; empty without TLS
}

// startRedis starts a server and waits until it takes connections.
func startRedis(o RedisOptions, role redisRole) (*redis, error) {
	program, err := redisProgram()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	r := &redis{daemon: &daemon{kind: "Redis", log: newServerLog(), stop: syscall.SIGTERM}, options: o, role: role, program: program}
	r.launch = r.startProcess
	if r.folder, err = newFolder("redis", "TERM", account); err != nil {
		return nil, err
	}
	if err = r.prepare(); err == nil {
		err = r.open(r.configure, r.role.distances()...)
	}
	if err != nil {
		return nil, errors.Join(err, r.end())
	}
	return r, nil
}

func (role redisRole) distances() []int {
	if role.bus {
		return []int{busDistance}
	}
	return nil
}

// redisProgram is the server's program: of Redis, or of what REPRISE_TEST_REDIS_SERVER names.
func redisProgram() (string, error) {
	if other := os.Getenv(otherRedis); other != "" {
		path, err := exec.LookPath(other)
		if err != nil {
			return "", fmt.Errorf("%s: %w", otherRedis, err)
		}
		return filepath.Abs(path)
	}
	return program("redis-server")
}

// prepare makes the data folder and what else the server reads.
func (r *redis) prepare() error {
	if r.options.DiskBytes != 0 {
		if err := r.addDisk(r.options.DiskBytes); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Mkdir(r.data(), 0o700), r.folder.account.own(r.data())); err != nil {
		return err
	}
	if r.options.Clock {
		var err error
		if r.clock, err = newClock(r.folder); err != nil {
			return err
		}
	}
	if r.role.secrets != nil {
		r.secrets = *r.role.secrets
		return nil
	}
	r.secrets.password = rand.Text()
	if !r.options.TLS {
		return nil
	}
	r.secrets.certificates = r.folder.path
	_, err := r.folder.certify()
	return err
}

// data is the data folder.
func (r *redis) data() string { return filepath.Join(r.mount(), "data") }

func (r *redis) startProcess() (*process, error) {
	if r.role.sentinel {
		return r.run(r.answersInHaste, r.program, r.configFile(), "--sentinel")
	}
	if r.clock != nil {
		return r.run(r.answers, "/usr/bin/env", append(r.clock.environment(), r.program, r.configFile())...)
	}
	return r.run(r.answers, r.program, r.configFile())
}

// answers reports whether it is this server that answers on the port, with its data loaded.
func (r *redis) answers(ctx context.Context) error {
	info, err := r.info(ctx)
	switch {
	case err != nil:
		return err
	case info["config_file"] != r.configFile():
		return fmt.Errorf("another server answers on port %d", r.port)
	case info["loading"] == "1":
		return errors.New("it is loading its data")
	}
	return nil
}

// end ends the server and removes all that it had.
func (r *redis) end() error {
	return errors.Join(r.quit((*process).kill), r.folder.remove())
}

// address is where the server listens.
func (r *redis) address() string {
	if r.external != nil {
		return r.external.Host
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port))
}
