// Package movestore moves records from one store, the previous one, to another, the primary one, while processes
// serve with both. An answered key never runs again, wherever the copier or a process stops.
//
// # How
//
//   - An instant is kept in the previous store, as a mark among the versions of the secret ([store.MovedMark]). Until then, by
//     the previous store's clock and decided under the record's lock, new keys are made there; from then on
//     never again. A process that knows the previous store alone sees the mark as a version of the secret that it lacks, and
//     makes no record from then on.
//   - [Store] asks the previous store first, for every command. It governs the keys of which it has a record. Only
//     where it has none, and never will, the primary store is asked.
//   - [Copy] writes records into the primary store as they are. There they are asked for by nobody yet. A record
//     that somebody could still take over in the previous store (retryable, or its lease ran out) is fenced
//     afterwards: the copier takes it over itself and abandons it for a reason that names the move. From then on the
//     primary store governs that key, too.
//   - When [Verify] finds every record of the previous store in the primary one, and nothing in the previous one that can go on,
//     processes may be started with the primary store alone.
//
// Both stores have a mark that names the move, so that stores that do not belong together, or are the wrong way round,
// are refused.
package movestore
