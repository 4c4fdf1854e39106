//go:build unix

package servicetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
)

// redisDatabases is how many databases a server has that is started here.
const redisDatabases = 4096

// externalDatabases is how many databases REPRISE_TEST_REDIS must have: as many as Redis has by itself.
const externalDatabases = 16

// Database returns the DSN of an empty database, redis://…, that no other test has. It is emptied when
// the test ends. Its user has not the right to FLUSHALL; FLUSHDB hurts nobody else. What Redis has once
// for all databases is shared: channels, invalidations of keys of one name, scripts, memory.
func (s *RedisServer) Database(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var number int
	err := await("a free database", func() (err error) {
		number, err = s.claimDatabase(ctx)
		return err
	})
	if err != nil {
		t.Fatalf("servicetest: %v", err)
	}
	if s.shared {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := s.freeDatabase(ctx, number); err != nil {
				t.Errorf("servicetest: empty the database: %v", err)
			}
		})
	}
	return s.DSN(number)
}

// databaseClaim is a key in database 0 that says that a database is in use. Other processes may be using
// the same server. It ends by itself an hour after a process that was killed.
func databaseClaim(number int) string { return "reprise:servicetest:" + strconv.Itoa(number) }

// claimDatabase finds a database that nobody has claimed and that is empty. What is in one that is not
// may be dear to somebody.
func (r *redis) claimDatabase(ctx context.Context) (int, error) {
	conn, err := r.admin(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	databases := redisDatabases
	if r.external != nil {
		databases = externalDatabases
	}
	for _, i := range rand.Perm(databases - 1) {
		number := i + 1
		claimed, err := conn.Do("SET", databaseClaim(number), "in use", "NX", "PX", "3600000")
		if err != nil {
			return 0, err
		}
		if claimed == nil {
			continue
		}
		_, err = conn.Do("SELECT", strconv.Itoa(number))
		size, err2 := conn.Do("DBSIZE")
		_, err3 := conn.Do("SELECT", "0")
		if size == int64(0) || errors.Join(err, err2, err3) != nil {
			return number, errors.Join(err, err2, err3)
		}
		if _, err := conn.Do("DEL", databaseClaim(number)); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("none of the databases 1 to %d of %s is empty and unused", databases-1, r.address())
}

func (r *redis) freeDatabase(ctx context.Context, number int) error {
	conn, err := r.admin(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, command := range [][]string{{"SELECT", strconv.Itoa(number)}, {"FLUSHDB"}, {"SELECT", "0"}, {"DEL", databaseClaim(number)}} {
		if _, err := conn.Do(command...); err != nil {
			return err
		}
	}
	return nil
}

// Addr is where the server listens: host:port.
func (s *RedisServer) Addr() string { return s.address() }

// CA is the path of the certificate that a TLS client verifies the server with; empty without TLS.
func (s *RedisServer) CA() string { return s.ca() }

// DSN returns the DSN of a database, redis://… or rediss://…, for a user without rights of
// administration.
func (s *RedisServer) DSN(database int) string { return s.dsn(redisUser, database).String() }

// AdminDSN returns the DSN of a database for a user who may do everything.
func (s *RedisServer) AdminDSN(database int) string { return s.dsn(redisAdmin, database).String() }

// UserDSN returns the DSN of a database for one of the users in [RedisOptions].
func (s *RedisServer) UserDSN(user string, database int) string {
	return s.dsn(user, database).String()
}

func (r *redis) ca() string {
	if r.secrets.certificates == "" {
		return ""
	}
	return filepath.Join(r.secrets.certificates, caFile)
}

func (r *redis) dsn(user string, database int) *url.URL {
	path := "/" + strconv.Itoa(database)
	if r.external != nil {
		there := *r.external
		there.Path = path
		return &there
	}
	u := &url.URL{Scheme: "redis", Host: r.address(), Path: path}
	if !r.role.sentinel {
		u.User = url.UserPassword(user, r.secrets.password)
	}
	if r.options.TLS {
		u.Scheme = "rediss"
	}
	return u
}

// admin connects as the user who may do everything.
func (r *redis) admin(ctx context.Context) (*RedisConn, error) {
	return dialRedis(ctx, r.dsn(redisAdmin, 0), r.ca())
}
