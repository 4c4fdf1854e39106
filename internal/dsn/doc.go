// Package dsn reads the DSNs of SQL servers, for all that keep something there. It connects to nothing, and
// neither what it returns nor its errors show a password. It also reads files of SQL, writes names for scripts, sets up sessions, and says which
// errors of such servers leave open whether something was committed.
package dsn
