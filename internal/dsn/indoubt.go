package dsn

import (
	"errors"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// statesInDoubt are SQLSTATEs, or their classes (two characters), after which nobody knows whether what was sent was committed. After any
// other the server has rolled it back.
var statesInDoubt = map[string]bool{
	"08":    true, // connection exceptions: from a PgBouncer that has lost the server, too
	"40003": true, // statement completion unknown
	"57P01": true, // admin shutdown: may arrive between the commit and its confirmation
	"57P02": true, // crash shutdown
	"57P05": true, // idle session timeout
}

// numbersInDoubt are the same of MariaDB and MySQL.
var numbersInDoubt = map[uint16]bool{
	1053: true,                                     // shutdown: may arrive between the commit and its confirmation
	1077: true, 1079: true, 1152: true, 1184: true, // the same, and other ends of a connection
	1158: true, 1159: true, 1160: true, 1161: true, // the network
	1180: true, // error during commit
	1317: true, // interrupted
	1598: true, // MySQL: the binary log cannot be written, and the server stops; what is in it is committed when it starts again
	1969: true, // interrupted, because it took too long: MariaDB
	1927: true, // connection killed, MariaDB
	3169: true, // connection killed, MySQL
	4031: true, // idle for too long
}

// StateInDoubt reports whether a SQLSTATE of PostgreSQL leaves open whether what was sent was committed.
func StateInDoubt(code string) bool {
	return statesInDoubt[code] || statesInDoubt[code[:min(2, len(code))]]
}

// NumberInDoubt reports the same of the number of an error of MariaDB or MySQL, 0 for one that is not the server's. Other numbers that are not a server's are from what lies between
// here and there, such as ProxySQL and MaxScale: they hand on what their own client says when it has lost the server (2013, 2006, 2003), and
// have some of their own.
func NumberInDoubt(n uint16) bool {
	servers := n >= 1000 && n < 2000 || n >= 3000 && n < 5000
	return numbersInDoubt[n] || !servers
}

// Panicked reports whether the server has given up with the error, whatever its code is: that of a file that could not be written, for one,
// after the commit was.
func Panicked(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.SeverityUnlocalized == "PANIC" || refused.SeverityUnlocalized == "" && refused.Severity == "PANIC")
}

// PostgresUndone reports whether an error is an answer of the server, after which what was sent is certainly not committed.
func PostgresUndone(err error) bool {
	var said interface{ SQLState() string }
	return errors.As(err, &said) && said.SQLState() != "" && !StateInDoubt(said.SQLState()) && !Panicked(err)
}

// MySQLUndone reports the same of an answer of MariaDB or MySQL.
func MySQLUndone(err error) bool {
	var said *mysql.MySQLError
	return errors.As(err, &said) && !NumberInDoubt(said.Number)
}
