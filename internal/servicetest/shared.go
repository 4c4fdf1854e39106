//go:build unix

package servicetest

import (
	"fmt"
	"net/url"
	"os"
	"sync"
)

// Servers that already run.
const (
	externalPostgres = "REPRISE_TEST_POSTGRES"
	externalRedis    = "REPRISE_TEST_REDIS"
	externalMySQL    = "REPRISE_TEST_MYSQL"
)

// otherRedis names the program that is started as a Redis server, instead of redis-server.
const otherRedis = "REPRISE_TEST_REDIS_SERVER"

// sharedPostgres is the server that all tests of the process share, started by the first that asks. What it is asked to
// survive is a crash of its own at most, so that it need not wait for the disk.
var sharedPostgres = sync.OnceValues(func() (*postgres, error) {
	dsn := os.Getenv(externalPostgres)
	if dsn == "" {
		p, err := startPostgres(PostgresOptions{MaxConnections: 300, Unsafe: true})
		if err == nil {
			p.shared = true
		}
		return p, err
	}
	there, err := url.Parse(dsn)
	if err != nil || there.Scheme != "postgres" && there.Scheme != "postgresql" {
		return nil, fmt.Errorf("%s is not of the form postgres://user:password@host/database", externalPostgres)
	}
	return &postgres{daemon: &daemon{kind: "PostgreSQL", log: newServerLog(), shared: true}, external: there}, nil
})

// sharedRedis is the server that all tests of the process share, started by the first that asks.
var sharedRedis = sync.OnceValues(func() (*redis, error) {
	dsn := os.Getenv(externalRedis)
	if dsn == "" {
		r, err := startRedis(RedisOptions{Persistence: PersistNothing}, redisRole{})
		if err == nil {
			r.shared = true
		}
		return r, err
	}
	there, err := url.Parse(dsn)
	if err != nil || there.Scheme != "redis" && there.Scheme != "rediss" {
		return nil, fmt.Errorf("%s is not of the form redis://user:password@host:port", externalRedis)
	}
	return &redis{daemon: &daemon{kind: "Redis", log: newServerLog(), shared: true}, external: there}, nil
})

// sharedMariaDB is as sharedPostgres.
var sharedMariaDB = sync.OnceValues(func() (*mariadb, error) {
	dsn := os.Getenv(externalMySQL)
	if dsn == "" {
		m, err := startMariaDB(MariaDBOptions{MaxConnections: 500, Unsafe: true})
		if err == nil {
			m.shared = true
		}
		return m, err
	}
	there, err := url.Parse(dsn)
	if err != nil || there.Scheme != "mysql" || there.User == nil {
		return nil, fmt.Errorf("%s is not of the form mysql://user:password@host:port/?tls=false", externalMySQL)
	}
	return &mariadb{daemon: &daemon{kind: "MySQL", log: newServerLog(), shared: true}, external: there}, nil
})
