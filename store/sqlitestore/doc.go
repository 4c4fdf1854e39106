// Package sqlitestore keeps records in one SQLite file. It is the embedded default: no server, no cgo,
// and every acknowledged command is on the disk.
//
// # Writing
//
// One goroutine writes. It takes every command that waits, runs all of them in one transaction, each as
// load → [machine.Step] → write, and commits once: the wait for the disk is shared, and commands of one
// key are decided in the order in which they came. While a group is committed, the next one gathers. A caller
// that nobody else is beside commits by itself, as a group of one: see [Options.Detached].
//
// # Reading
//
// A claim looks at the record first, on a connection of its own, in a snapshot that begins after the
// command was called. If the command would change nothing (a replay, a key in progress), that is the
// answer: replays never wait for writes. See [Store.Apply] for why the answer is as good as one given
// under the lock.
//
// # Effects
//
// A program whose tables are in the same file lets an action's writes commit together with its record: [Do],
// or [JoinSQL] in a transaction that it has already. They use the program's own pool, and hold the file's
// write lock while the action runs. Meanwhile commands that write wait, and replays go on.
//
// # Several processes
//
// Any number of processes on one machine may use a file; SQLite's lock lets one group write at a time.
// The file must be on a local disk: the write-ahead log does not work over a network file system. The
// clock is the machine's, read after the lock is held.
//
// In one process only one SQLite library may use the file, which is modernc.org/sqlite: the locks of two do
// not exclude each other there, and commits get lost.
//
// # What is in the file
//
// Digests of keys and of owner tokens, names of operations, and answers as they were given to the
// store. Raw keys, principals and owner tokens are nowhere in it.
package sqlitestore
