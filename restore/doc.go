// Package restore brings back what a system has lost, from what SQL knows, and proves it. It knows nothing of what it
// restores: that is a [Plan], which has phases. A phase has targets, and a target is a range of units that is applied by one
// call that may be repeated.
//
//	gate closed → drained → new generation and fence → targets listed → phase after phase → verified (→ corrected → verified) → cleaned up → gate open
//
// A [Runner] does it, in any number of processes. One of them manages the session, the one that has its lease; all of them
// take targets. What is to be done, what is done and who does it is in SQL ([Sessions], in PostgreSQL, MariaDB or MySQL 8), because
// what is being restored is what broke.
//
// # What is promised
//
//   - Whatever ends a process, wherever it was, another one goes on there, and comes to the same end. At most one batch of
//     each worker is done again, and what was done is skipped.
//   - There is one live session of a plan.
//   - Nothing late has an effect. Every change of a session carries its epoch and the token of the lease that it was made under, and is
//     compared with them in the same statement; every write to the target system carries a [Fence]. The epoch is raised with
//     each take-over and each phase, and the target system has confirmed it before anything is written under it.
//   - Progress belongs to a generation of the target system's data. If that is lost again, nothing that was done is believed.
//   - No error is taken for an end. A phase is complete when as many targets are done as were listed, with as many units as the plan
//     has counted in another way.
//   - What cannot be restored is quarantined alone, with the reason, and the rest is restored.
//   - The gate opens when everything was compared and is equal, or belongs to what is quarantined.
//
// The clock of the SQL server decides about leases. docs/restore.md has the table of states.
package restore
