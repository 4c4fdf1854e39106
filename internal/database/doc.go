// Package database is a database of PostgreSQL, MariaDB or MySQL 8 behind one type: statements in .sql files, by the same
// names and with the same arguments for each server; transactions that are begun again when they were in each other's
// way; migrations under a lock; errors in the words of package store.
//
// A package that keeps tables has a [Kit]: folders postgres/ and mysql/ with its statements, and with its migrations in
// schema/. Arguments are numbered ($1, $2) on both servers. Rows go to a server as one argument, a JSON array ([Batch]): a
// statement is the same text for one row and for ten thousand, and a batch is one round trip.
//
// PostgreSQL's files say reprise for the schema; where the DSN names another one, that is replaced.
package database
