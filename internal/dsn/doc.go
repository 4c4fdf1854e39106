// Package dsn reads the DSNs of SQL servers, for all that keep something there. It connects to nothing, and
// neither what it returns nor its errors show a password.
package dsn
