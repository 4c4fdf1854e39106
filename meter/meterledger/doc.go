// Package meterledger keeps what the meter knows for sure, in PostgreSQL, MariaDB or MySQL 8: lines and families, grants,
// policies, the done log, and what folds make of it. Redis decides; this knows. The state in Redis follows from it, to
// the byte ([Ledger.Read], [meter.Rebuild]), and nothing in it is made from Redis but the rows that are appended.
//
// # What is promised
//
//   - An event of a line is in the done log once ([Ledger.AppendDone]), whoever appends it and how often.
//   - A row is counted in the daily totals and the monthly snapshots once ([Ledger.Fold]): its stamp commits with the
//     count. What is folded is a set of rows, never a position in the log, because rows commit out of order.
//   - Nothing of an older generation is added once [Ledger.NewGeneration] has returned: who appends shares a lock with
//     the others, and who begins a generation waits for all of them. A process that was paused meanwhile is refused.
//   - No fold runs while a restore holds them ([Ledger.HoldFolds]).
//   - Grants are added and never changed. All grants of an owner's month have a sum that is an amount.
//   - What the cost of an operation grows with is said beside it, and it is never the done log.
//
// # Every operation may be repeated
//
// Whatever was not confirmed is done again with the same arguments: what was done the first time is found. So an error needs
// no more than [store.ErrUnavailable] (nothing happened) and [store.ErrIndeterminate] (a commit was not confirmed).
//
// # Two servers
//
// All statements are in postgres/ and mysql/, by the same names and with the same arguments and columns. Rows go to a server as
// one argument, a JSON array: a statement is the same text for one row and for ten thousand, and a batch is one round trip.
// Only the done log of MariaDB gets its rows as values in the statement, which takes it half of the time.
//
// docs/meter.md explains the tables.
package meterledger
