// Package mysqlstore keeps records in MariaDB or MySQL. Any number of processes on any number of machines may
// use a database, and a business write can commit together with its record: see [Do].
//
// It is tested with MariaDB 10.11, and where that needs no server of its own with MySQL 9.7. Its statements are those that both know; where the two differ they
// say so in comments that one of them reads. What MariaDB alone has, it does for a lone caller only (begin.sql), and MySQL
// does what groups do.
//
// # Writing
//
// New records and answers of callers that wait at the same time share a transaction, in one round trip; those of
// a lone caller are one prepared statement ([Store.Apply], commit.go). Every other command loads its record under
// the lock of its row, calls [machine.Step] and writes what comes of it, in a transaction of its own (step.go).
//
// # Locks
//
// Whoever changes a record holds the lock of its row until the transaction ends, and a new one is made by its
// unique digest. Nobody waits in the database for one: a key that somebody's open transaction holds is left out
// of a group, and asked for again until the caller's context ends. So an open [Do] on one key delays no other. A
// claim does not wait for one: it sees in what is not committed that the key is in progress (held.go).
//
// The server also locks gaps between keys, where an isolation above READ COMMITTED or a unique key asks for it.
// The store's own transactions are READ COMMITTED, whatever the server's default. Those of effects may be anything;
// their statements are such that they lock their key alone (query/effect_*.sql).
//
// # Reading
//
// A claim on a key that has an answer, and an inspection, read what is committed and lock nothing. Readers
// that wait at the same time share a statement. What another process wrote a moment ago may not be durable yet: before
// anybody is told of it, something later is committed (durable.go).
//
// # The clock
//
// Only the server's clock counts, in UTC: it is read after the lock was taken, and by readers before their
// snapshot. One exception: a new record has the time just before its row was made. Where a claim has bounds, the
// time after that is looked at, too.
//
// # What is in the database
//
// Digests of keys and of owner tokens, names of operations, and answers as they were given to the store.
// Raw keys, principals and owner tokens are nowhere in it. The tables are explained in schema/.
package mysqlstore
