// Package observestore shows what a store does: OpenTelemetry spans and metrics for every command.
//
// Each command is a client span named "reprise.store " and the command's name. Attributes:
//
//	reprise.command    claim, begin, …
//	reprise.operation  the operation's name
//	reprise.scope      the record's digest in hex; the key it was made from is nowhere
//	reprise.outcome    acquired, replay, … of a command that was answered
//	reprise.attempt, reprise.revision
//	error.type         unavailable, lost, indeterminate, corrupt, unsupported or schema, of one that was not
//
// Metrics:
//
//	reprise.store.duration  histogram, seconds; by reprise.command, and reprise.outcome or error.type
//	reprise.store.active    commands under way; by reprise.command
//
// The number of time series is bounded by commands and outcomes: neither operations nor digests are in
// metrics. The share of replays, for one, is the count of reprise.outcome="replay" in the histogram
// among those of claim and begin.
//
// Texts of errors are in neither: they can name hosts and users.
package observestore
