// Package machine decides what may happen to an idempotent operation.
//
// It is a pure function: a record, a command and the time go in, the next record and a reply come
// out. There is no clock, network, disk, context or lock in this package, and a test keeps it so
// (internal/archtest). Every store is this function with a different way of being atomic:
//
//	load → Step → compare-and-swap on (revision, state)
//
// # States
//
//	claimed ──start──▶ executing ──complete──▶ completed ──window ends──▶ expired ──forgotten──▶ (absent)
//	   │ release            │ fail: no effect ──▶ retryable ──claim──▶ claimed (attempt + 1)
//	   ▼                    │ fail: unknown
//	(absent)                ▼
//	                     abandoned ──settle──▶ completed | retryable
//
// Expired, absent and interrupted are judged from the time, never written: see [Record.Judge].
//
// # Three identities
//
// An owner token says who holds a key. An attempt counts how often it was taken. An invocation
// nonce says which run of the action holds it since it was started: two runs can retain one owner
// token and one attempt, and the run that never happened must not speak for the one that did.
//
// # Retrying a command
//
// Every change of a record can be sent again. A command whose kind, operation id and from-revision
// are those of the record's last transition is a retry of it: the same arguments are answered
// Already…, other arguments with a conflict that names what differs.
package machine
