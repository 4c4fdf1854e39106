package mysqlstore

import (
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

var (
	errClosed = errors.New("the store is closed")
	errBusy   = errors.New("another transaction holds this key: end it, or try again")
	errMoved  = errors.New("the record was changed by somebody who did not hold its lock")

	errOvertaken = errors.New("somebody has changed the record since: send the same command again")
)

// Numbers of the server's errors that the code knows. Some are MySQL's alone, or MariaDB's.
const (
	duplicateKey   = 1062
	lockTimeout    = 1205
	deadlock       = 1213
	lockNoWait     = 3572 // MySQL's
	snapshotTooOld = 1020 // MariaDB's, with innodb_snapshot_isolation
	noTable        = 1146
	noSavepoint    = 1305
	outOfRange     = 1690 // of a number: within.sql, begin.sql
	dataTooLong    = 1406
	packetTooLarge = 1153

	unknownStatement = 1243 // one that was prepared on another server
)

// advice says what to do about a number.
var advice = map[uint16]string{
	1021:           "the server's disk is full: make room",
	1040:           "the server has no connection left: raise max_connections, or lower the pool",
	1044:           "give the user its rights: reprise migrate print",
	1045:           "check user, password, from which host the user may connect, and whether the server wants TLS (tls=true in the DSN)",
	1049:           "create the database, or name another one",
	1114:           "the server's disk is full, or the tablespace: make room",
	1130:           "the server lets nobody in from this host: create the user for it",
	1142:           "give the user its rights: reprise migrate print",
	1143:           "give the user its rights: reprise migrate print",
	noTable:        "a table is missing: reprise migrate status says which",
	packetTooLarge: "the answer is larger than the server takes: raise max_allowed_packet",
	1203:           "the user has no connection left: raise max_user_connections, or lower the pool",
	1206:           "the server is out of memory for locks: raise innodb_buffer_pool_size",
	1226:           "the user has used up what it may: raise its limits",
	1290:           "this server is read-only: name the primary",
	1665:           "the server writes its binary log as statements: set binlog_format to ROW or MIXED",
	1698:           "check user, password and how the user is authenticated",
	1792:           "the server's transactions are read-only: name the primary",
	1836:           "this server is read-only: name the primary",
	3159:           "the server wants TLS: add tls=true to the DSN",
	deadlock:       "transactions wait for each other: try again",
	lockTimeout:    "another transaction holds this key: end it, or try again",
	lockNoWait:     "another transaction holds this key: end it, or try again",
}

// number returns the number that the server gave an error; 0 if it gave none.
func number(err error) uint16 {
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		return said.Number
	}
	return 0
}

// explain adds to an error what to do about it.
func explain(err error) error {
	if what, ok := advice[number(err)]; ok {
		return fmt.Errorf("%s: %w", what, err)
	}
	var untrusted *tls.CertificateVerificationError
	var unconnected *net.OpError
	switch {
	case errors.Is(err, mysql.ErrNoTLS):
		return fmt.Errorf("the server has no TLS: set it up there, or choose another tls= in the DSN: %w", err)
	case errors.Is(err, mysql.ErrPktTooLarge):
		return fmt.Errorf("the answer is larger than the server takes: raise max_allowed_packet: %w", err)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the server's certificate is not accepted: name its authority with ca=FILE in the DSN, and the host as the certificate does: %w", err)
	case errors.As(err, &unconnected) && unconnected.Op == "dial":
		return fmt.Errorf("check that the server runs, and host and port: %w", err)
	}
	return err
}

// unsent translates an error of something that has changed nothing, whatever came of it.
func unsent(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	if ctx.Err() != nil {
		return store.Unavailable(errors.Join(context.Cause(ctx), err))
	}
	return store.Unavailable(explain(err))
}

// sent translates an error of a transaction whose commit may have been sent.
func sent(err error) error {
	switch {
	case err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrIndeterminate):
		return err
	case certain(err):
		return store.Unavailable(explain(err))
	}
	return store.Indeterminate(explain(err))
}

// certain reports whether a transaction that ended with an error was certainly not committed.
func certain(err error) bool {
	// The driver says that a connection is bad only where it has written nothing to it.
	if errors.Is(err, errNotSent) || errors.Is(err, driver.ErrBadConn) || tooLarge(err) ||
		errors.Is(err, errMoved) || errors.Is(err, store.ErrUnavailable) {
		return true
	}
	return dsn.MySQLUndone(err)
}

// held reports whether an error says that somebody else has a lock that was not waited for, or that both
// would have waited for each other.
func held(err error) bool {
	switch number(err) {
	case lockTimeout, lockNoWait, deadlock, snapshotTooOld:
		return true
	}
	return false
}

// own reports whether an error is about a group or one of its commands, so that each is better tried by
// itself. What the whole server says would be said to each again.
func own(err error) bool {
	n := number(err)
	return held(err) || n == duplicateKey || n == dataTooLong
}

// tooLarge reports whether an error says that a message was more than the server takes.
func tooLarge(err error) bool {
	return errors.Is(err, mysql.ErrPktTooLarge) || number(err) == packetTooLarge
}
