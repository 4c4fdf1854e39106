package dsn

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Elsewhere reports whether an error is the answer of a server that does not write: a standby or a replica, or a node that has lost its
// cluster. After a failover a connection may still lead to one that was the primary before, and would do so for as long as it lives; another
// connection finds the new one by its name or address.
func Elsewhere(err error) bool {
	var postgres interface{ SQLState() string }
	if errors.As(err, &postgres) {
		return postgres.SQLState() == "25006" // read-only transaction
	}
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		switch said.Number {
		case 1290, 1792, 1836, // read-only, by an option of the server, for transactions, and as a mode
			1047: // a node of Galera that is not ready
			return true
		}
	}
	return false
}

// Turnover says when to give up connections to a server that does not write: not one for each command, where it goes on for long.
type Turnover struct{ last atomic.Int64 }

// turnoverPause is between two.
const turnoverPause = 50 * time.Millisecond

// Due reports whether one may be given up now, and counts it.
func (t *Turnover) Due() bool {
	last, now := t.last.Load(), time.Now().UnixNano()
	return time.Duration(now-last) >= turnoverPause && t.last.CompareAndSwap(last, now)
}
