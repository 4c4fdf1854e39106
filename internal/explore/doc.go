// Package explore proves the guard's promises in small worlds, by going through all of them.
//
// A world is a store that holds one key, two or three callers, and a network between them. The store is
// [machine.Step], and each caller is a [flow.Flow]: the code that runs in production, not a model of
// it. What is modelled is everything that can happen around it, at any moment and in any order:
//
//   - a command arrives at once, late, twice, or never, and so does its reply; a store refuses;
//   - a caller is stopped, gives up, or is slow, wherever it stands;
//   - time passes: leases end, windows close, a late secret becomes the primary one;
//   - an action takes effect at some moment while its lease is held or up to its longest time after,
//     then ends with an answer, with no effect, or in doubt; or it never does;
//   - a resolver and an operator settle, and tell the truth.
//
// How often each fault happens in one run is bounded by a [Setting], and so is time; within these bounds
// [Explore] visits every world that can be reached, once. In each it checks the promises (check.go),
// and that every caller can reach an answer by itself (alone.go).
//
// # What is left out without losing anything
//
//   - Callers that are alike begin in order of their number.
//   - A late command that would change nothing is not delivered: leaving it out is the same.
//   - A reply that is not delivered at once is delivered after time has passed: until then nobody but
//     its receiver could tell.
//   - What can no longer matter is forgotten: the memory of a caller that is gone, the times at which a
//     record was claimed and started.
package explore
