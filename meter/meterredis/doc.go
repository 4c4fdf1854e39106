// Package meterredis keeps the meter's state in Redis and decides there.
//
// A deduction is an effect of package redisstore: the operation of an event, which is its line and its id, and the
// balances that it changes are in one bucket and change in one script. A second delivery gets the first one's
// result. The script comes to what [meter.Apply] comes to; what policies mean is worked out before, and the script
// checks that they are still the same.
//
// # Keys
//
// docs/meter.md lists them; names.go makes them. A unit, which is a family with all its lines or a line in none, is
// one bucket. Nothing that SQL does not hold yet expires: neither the records of events, which are held, nor
// counters, before [Meter.Settle] is told of their rows.
//
// # Loss
//
// Everything is bound to the generation of its bucket. A Redis that was emptied, or that may have lost something,
// decides nothing: the errors are [store.ErrLost], or a refusal that says what is not hydrated.
package meterredis
