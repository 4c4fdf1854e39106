// Package pipeline brings events from intake to the done log.
//
//	intake → stream → deduct in Redis → done log in SQL → acknowledged
//
// An [Intake] checks events and puts them into the streams, or into the durable inbox. A [Worker] takes them, has each decided
// in Redis, appends what was decided to the done log in batches, and only then removes them from the stream. Whatever
// dies between two of these steps, a delivery comes again, finds its decision in Redis or its row in SQL, and changes nothing.
//
// Policy 8, the gate, is asked before events are taken in, before they are read, when they are taken over from a worker that
// stopped, and in the script itself.
//
// [Hydrate] makes the state in Redis from the ledger, and the [Keeper] opens months, confirms grants and folds rows.
package pipeline
