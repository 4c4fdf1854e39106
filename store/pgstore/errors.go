package pgstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/reprise-dev/reprise/internal/dsn"
	"github.com/reprise-dev/reprise/store"
)

var (
	errClosed = errors.New("the store is closed")
	errBusy   = errors.New("another transaction holds this key: end it, or try again")
	errMoved  = errors.New("the record was changed by somebody who did not hold its lock")

	errOvertaken = errors.New("somebody has changed the record since: send the same command again")
)

// What an error of the server says about a statement that was sent. Whatever is not listed is an error of
// the statement: it was rolled back.
var (
	// serialization are SQLSTATEs that ask for the whole transaction again. That a transaction had failed before (25P02) is none: why it
	// failed only the one knows who went on, and what he did wrong he would do wrong again.
	serialization = map[string]bool{
		"40001": true, // serialization failure
		"40P01": true, // deadlock detected
		"23505": true, // unique violation: somebody else was first
	}
	// advice says what to do about a SQLSTATE, or about its class (two characters).
	advice = map[string]string{
		"08":    "check that the server runs and that the network between is sound",
		"25P02": "a statement of the transaction failed, and whoever sent it went on: return its error, or use a savepoint",
		"25006": "this server is a standby or read-only: name the primary, or add target_session_attrs=read-write to the DSN",
		"26000": "prepared statements get lost: add pgbouncer=1 to the DSN if there is a PgBouncer in between",
		"28":    "check user, password, sslmode and pg_hba.conf",
		"3D000": "create the database, or name another one",
		"3F000": "prepare the schema: reprise migrate up",
		"42501": "give the role its rights: reprise migrate print",
		"42883": "a part of the schema is missing: reprise migrate status says which",
		"42P01": "a part of the schema is missing: reprise migrate status says which",
		"42P05": "prepared statements collide: add pgbouncer=1 to the DSN if there is a PgBouncer in between",
		"53100": "the server's disk is full: make room",
		"53200": "the server is out of memory or of locks: raise max_locks_per_transaction, or lower the group limit",
		"53300": "the server has no connection left: raise max_connections, lower the pool, or use a PgBouncer",
		"57P03": "the server is starting or stopping: try again",
	}
)

// explain adds to an error what to do about it.
func explain(err error) error {
	code := sqlState(err)
	if code == "08P01" && strings.Contains(err.Error(), "startup parameter") {
		return fmt.Errorf("add pgbouncer=1 to the DSN: a PgBouncer in between does not take the session's settings: %w", err)
	}
	for _, part := range []string{code, code[:min(2, len(code))]} {
		if what, ok := advice[part]; ok {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	var untrusted *tls.CertificateVerificationError
	var unconnected *pgconn.ConnectError
	switch {
	case errors.As(err, &untrusted):
		return fmt.Errorf("the server's certificate is not accepted: name its authority with sslrootcert=FILE in the DSN, and the host as the certificate does: %w", err)
	case errors.As(err, &unconnected):
		return fmt.Errorf("check that the server runs, and host, port and sslmode: %w", err)
	}
	return err
}

// sqlState returns the code that the server gave an error, whatever the driver; empty if it gave none.
func sqlState(err error) string {
	var refused interface{ SQLState() string }
	if errors.As(err, &refused) {
		return refused.SQLState()
	}
	return ""
}

// unsent translates an error of something that has changed nothing, whatever came of it.
func unsent(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	if dsn.StatementMode(err) { // to wait is no use
		return fmt.Errorf("%w: %w", dsn.ErrStatementMode, err)
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
	if pgconn.SafeToRetry(err) {
		return true // nothing was sent
	}
	var unconnected *pgconn.ConnectError
	if errors.As(err, &unconnected) {
		return true
	}
	return dsn.PostgresUndone(err)
}

// absent reports whether an error says that the schema, or a part of it, is not there.
func absent(err error) bool {
	switch sqlState(err) {
	case "42P01", "3F000", "42883":
		return true
	}
	return false
}

// own reports whether an error is about a group or one of its commands, so that each is better tried by
// itself. What the whole server says would be said to each again.
func own(err error) bool {
	code := sqlState(err)
	switch {
	case code == "" || dsn.StateInDoubt(code) || dsn.Panicked(err):
		return false
	case code == "53200": // no locks left for so many keys at once: one by one they may do
		return true
	}
	for _, class := range []string{"25", "28", "3D", "3F", "42", "53", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return false
		}
	}
	return true
}
