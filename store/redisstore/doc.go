// Package redisstore keeps records in Redis: on one server, behind Sentinel, or in a Cluster.
//
// Each record is one packed string in one key, and each command one round trip: claims of new keys, answers
// to duplicates and completions are decided on the server, and those of one moment travel together. All else loads the record, calls
// [machine.Step] and swaps in what it returned, if the record is still the one that was loaded.
//
// # Time
//
// The server's clock decides, in milliseconds. A record does not say when it was made: its key says when it
// expires, and the record how long it lives from its birth, so that its birth, and with it every instant
// counted from there, is known to whoever reads both. What is unfinished lives for a nominal hundred
// years.
//
// # Loss
//
// Keys are spread over 1,024 buckets. Each has a generation, and each record that of its claim: a record of
// another generation counts as absent. A bucket without its generation, or with another one than this
// process knows, has lost its data, and every command on it says so with [store.ErrLost].
//
// With wait=N in its DSN, a store acknowledges nothing before N replicas have it. If the DSN says how many replicas
// there are, a replica that is promoted can be shown to have all of it, and is then used without an operator's
// act.
//
// # Listing and waiting
//
// Redis finds records by their keys alone. Those whose outcome is unknown are in an index of their bucket, which
// the scripts keep that write them. That an execution was interrupted is not written by anybody: claims that meet
// one put it into the index, and every minute one of the processes that have the store open looks at all
// records. Other listings, counts and purges scan the servers' keys, a few at a time.
//
// Who waits for a record marks it; who changes a marked record publishes that.
package redisstore
