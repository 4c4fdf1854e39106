// Package meter decides how prepaid usage is taken from allowances.
//
// An event says that a line used an amount of bytes with an app. The amount is taken from the line's own
// monthly allowance, then from its family's shared one, then from the QoS (slow) allowance; the rest is
// blocked. Eight policies can change that. [Apply] is the whole decision:
//
//	Apply(state, event, policies) → next state, result, error
//
// It is a pure function. There is no clock, network, disk, context or lock in this package, and a test
// keeps it so (internal/archtest). The script that decides in Redis must answer what Apply answers.
//
// # Two ways to a state
//
// [Apply] decides an event and [ApplyGrant] raises an allowance: that is how the state in Redis comes about.
// [ApplyRow] applies a split that was decided before, and [Rebuild] makes a state from what SQL holds: grants,
// folded rows and rows that no fold has taken in. Both ways end in the same state, to the byte.
//
// # Numbers
//
// Amounts are bytes, from 0 to 2^63 - 1, and exact. What would leave that range is refused, never wrapped
// or rounded. Sums over many rows, which may be larger, are [Wide].
//
// docs/meter.md tells the rules, names the keys, and has a table of examples, which is also a test.
package meter
