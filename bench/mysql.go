package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store/mysqlstore"
)

func mysqlContender() contender {
	return contender{
		part: "mysql", name: "mysqlstore", open: openMySQL, limitName: "a bare prepared statement for each command",
		operations: []target{{1, 0.9}, {64, 1}, {256, 1.5}},
		replays:    []target{{1, 0.85}, {64, 0.85}, {256, 0.85}},
	}
}

// mysqlServer is a MariaDB server of our own, with a store and the limit in one database. It is fully durable, and
// set as it comes but for the number of connections.
type mysqlServer struct {
	host  *host
	dsn   string
	store *mysqlstore.Store
	bare  *bareMySQL
}

func startMySQL(ctx context.Context) (m *mysqlServer, err error) {
	m = &mysqlServer{host: &host{ctx: ctx}}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	err = m.host.try(func() {
		server := servicetest.NewMariaDB(m.host, servicetest.MariaDBOptions{
			MaxConnections: 400, Settings: map[string]string{"innodb-log-file-size": "96M"}, // as it comes
		})
		m.dsn = server.Database(m.host)
	})
	if err != nil {
		return m, err
	}
	if m.store, err = mysqlstore.Open(ctx, m.dsn, mysqlstore.Options{Migrate: true}); err != nil {
		return m, err
	}
	m.bare, err = openBareMySQL(ctx, m.dsn)
	return m, err
}

func (m *mysqlServer) close() error {
	var failures []error
	if m.store != nil {
		failures = append(failures, m.store.Close())
	}
	if m.bare != nil {
		failures = append(failures, m.bare.Close())
	}
	return errors.Join(append(failures, m.host.end())...)
}

// openMySQL is the contender's.
func openMySQL(ctx context.Context, _ string) (contest, error) {
	m, err := startMySQL(ctx)
	return contest{ours: m.store, limit: m.bare, close: m.close}, err
}

// bareMySQL is the limit for MariaDB: a table as somebody would write it by hand, and a prepared statement and a
// commit for each command. It takes Begin on a fresh key, Complete and Inspect.
type bareMySQL struct {
	db                     *sql.DB
	insert, update, choose *sql.Stmt
}

const (
	bareMySQLTable  = "CREATE TABLE bare (id bigint AUTO_INCREMENT PRIMARY KEY, digest binary(32) NOT NULL, state int NOT NULL, fingerprint binary(32) NOT NULL, answer blob, UNIQUE KEY (digest)) ENGINE = InnoDB"
	bareMySQLInsert = "INSERT IGNORE INTO bare (digest, state, fingerprint) VALUES (?, 1, ?)"
	bareMySQLUpdate = "UPDATE bare SET state = 2, answer = ? WHERE digest = ? AND state = 1"
	bareMySQLSelect = "SELECT answer FROM bare WHERE digest = ?"
)

func openBareMySQL(ctx context.Context, dsn string) (*bareMySQL, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	config.Passwd, _ = u.User.Password()
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	b := &bareMySQL{db: sql.OpenDB(connector)}
	if _, err := b.db.ExecContext(ctx, bareMySQLTable); err != nil {
		return b, err
	}
	for statement, text := range map[**sql.Stmt]string{&b.insert: bareMySQLInsert, &b.update: bareMySQLUpdate, &b.choose: bareMySQLSelect} {
		if *statement, err = b.db.PrepareContext(ctx, text); err != nil {
			return b, err
		}
	}
	return b, b.use(ctx, 16)
}

// use makes a number of connections be used.
func (b *bareMySQL) use(_ context.Context, size int) error {
	b.db.SetMaxOpenConns(size)
	b.db.SetMaxIdleConns(size)
	return nil
}

// tune implements tuner.
func (b *bareMySQL) tune(ctx context.Context, callers int, work func() error) (string, error) {
	return tunePool(ctx, callers, b.use, work)
}

// Close closes the pool.
func (b *bareMySQL) Close() error { return b.db.Close() }

// Apply implements [store.Store].
func (b *bareMySQL) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	digest := command.Target().Digest
	switch c := command.(type) {
	case machine.Begin:
		err := once(b.insert.ExecContext(ctx, digest[:], c.Fingerprints[0].Sum[:]))
		return machine.Reply{Outcome: machine.Acquired, Attempt: 1, Revision: 1}, err
	case machine.Complete:
		return machine.Reply{Outcome: machine.CompletedNow}, once(b.update.ExecContext(ctx, c.Response.Data, digest[:]))
	case machine.Inspect:
		var answer []byte
		err := b.choose.QueryRowContext(ctx, digest[:]).Scan(&answer)
		return machine.Reply{Outcome: machine.Found, Response: machine.Response{Data: answer}}, err
	}
	return machine.Reply{}, fmt.Errorf("bareMySQL does not know %v", command.Kind())
}

// once returns an error unless one row was changed.
func once(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fmt.Errorf("changed %d rows", n))
	}
	return nil
}
