// Package meterrestore is the meter's plan for package restore: how the meter's state in Redis is made again from the ledger.
//
// A target is a range of units, which are families with all their lines, and lines in none. Each phase writes absolute values that
// follow from SQL, all keys of a unit in one script that carries the fence: first what is left of allowances as far as folds
// know, then the counters of what they took in, then what no fold has stamped. Only the last opens the unit, and the gate still
// holds. So a second write, a late one and one of another process are all harmless: a unit at or past the phase is left.
//
// Records of events are not restored. A unit says since when it decides; an event that happened before is decided only when
// the done log was asked, which has a row of every event that counts (docs/decisions/0010).
//
// Verification recomputes what Redis should have from the whole done log and the grants, neither from totals and snapshots nor with
// the code that wrote it, and compares every key of every unit, what every bucket has of its own, and the names of all keys. A key is
// corrected in one script, which compares it and the number of changes of its owner with what was judged; what is under way is never
// corrected. Events that were accepted and are somewhere are counted, and those that nobody can decide any more are listed.
package meterrestore
