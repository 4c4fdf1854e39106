package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/reprise-dev/reprise/machine"
)

// commitEach is the limit for a SQLite store without groups: on the same driver, as durable, one
// statement and one commit a command, and no question asked. It takes Begin on a fresh key and Complete.
type commitEach struct {
	mu             sync.Mutex
	conn           driver.Conn
	insert, update driver.Stmt
	packed         []byte
}

const (
	eachTable  = `CREATE TABLE record (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, state INTEGER NOT NULL, revision INTEGER NOT NULL, record BLOB NOT NULL) STRICT`
	eachInsert = `INSERT INTO record (digest, state, revision, record) VALUES (?, ?, ?, ?)`
	eachUpdate = `UPDATE record SET state = ?, revision = ?, record = ? WHERE digest = ? AND revision = ?`
)

func openCommitEach(path string) (store *commitEach, err error) {
	options := url.Values{"_pragma": {"journal_mode(WAL)", "synchronous(FULL)", "wal_autocheckpoint(4000)"}}
	c := &commitEach{}
	if c.conn, err = new(sqlite.Driver).Open((&url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}).String()); err != nil {
		return nil, err
	}
	create, err := c.conn.Prepare(eachTable)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(c.exec(context.Background(), create), create.Close()); err != nil {
		return nil, err
	}
	if c.insert, err = c.conn.Prepare(eachInsert); err != nil {
		return nil, err
	}
	c.update, err = c.conn.Prepare(eachUpdate)
	return c, err
}

func (c *commitEach) exec(ctx context.Context, s driver.Stmt, args ...any) error {
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: a}
	}
	_, err := s.(driver.StmtExecContext).ExecContext(ctx, values)
	return err
}

// Apply does what a Begin on a fresh key and its Complete need.
func (c *commitEach) Apply(ctx context.Context, command machine.Command) (machine.Reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	digest := command.Target().Digest
	switch command := command.(type) {
	case machine.Begin:
		record, reply := machine.Step(nil, command, time.Now())
		var err error
		if c.packed, err = record.AppendBinary(c.packed[:0]); err != nil {
			return reply, err
		}
		return reply, c.exec(ctx, c.insert, digest[:], int64(record.State), int64(record.Revision), c.packed)
	case machine.Complete:
		data := command.Response.Data
		reply := machine.Reply{Outcome: machine.CompletedNow, Revision: command.Revision + 1}
		return reply, c.exec(ctx, c.update, int64(machine.Completed), int64(reply.Revision), data, digest[:], int64(command.Revision))
	}
	return machine.Reply{}, fmt.Errorf("commitEach does not know %v", command.Kind())
}

// Close closes the connection.
func (c *commitEach) Close() error {
	return errors.Join(c.insert.Close(), c.update.Close(), c.conn.Close())
}
