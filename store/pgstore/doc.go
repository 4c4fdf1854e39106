// Package pgstore keeps records in PostgreSQL. Any number of processes on any number of machines may use a
// database, and a business write can commit together with its record: see [Do].
//
// # Writing
//
// New records and answers of callers that wait at the same time are written in one statement and share its
// commit ([Store.Apply], commit.go). Every other command loads its record under the key's lock, calls
// [machine.Step] and writes what comes of it, in a transaction of its own (step.go).
//
// # Locks
//
// Whoever changes a record holds the advisory lock of its key until the transaction ends. Nobody waits in
// the database for one: a key that somebody's open transaction holds is left out of a group, and asked for
// again until the caller's context ends. So an open [Do] on one key delays no other. A claim does not wait
// for one: an effect holds a second lock, by which the claim can tell that the key is in progress
// (underway.go).
//
// # Room
//
// What is not answered yet is in a table of its own, which the store vacuums if its role may: it owns the
// table or the database, or has MAINTAIN on the table (PostgreSQL 17 and newer). Otherwise autovacuum does,
// and each command costs the server about a quarter more under load; a lower autovacuum_naptime helps.
//
// # Reading
//
// A claim on a key that has an answer, and an inspection, read what is committed and lock nothing. Readers
// that wait at the same time share a statement.
//
// # The clock
//
// Only the server's clock counts: it is read after the lock was taken, and by readers before their
// snapshot.
//
// # What is in the database
//
// Digests of keys and of owner tokens, names of operations, and answers as they were given to the store.
// Raw keys, principals and owner tokens are nowhere in it. The tables are explained in schema/.
package pgstore
