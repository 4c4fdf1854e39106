// Package explore proves the guard's promises in small worlds, by going through all of them.
//
// A world is a store that holds one key, two or three callers, and a network between them. The store is
// [machine.Step], and each caller is a [flow.Flow]: the code that runs in production, not a model of
// it. What is modelled is everything that can happen around it, at any moment and in any order:
//
//   - a command arrives at once, late, twice, or never, and so does its reply; a store refuses;
//   - a caller is stopped, gives up, or is slow, wherever it stands;
//   - time passes: leases end, windows close, a newer secret becomes the primary one;
//   - an action takes effect at some moment while its lease is held or up to its longest time after,
//     then ends with an answer, with no effect, or in doubt; or it never does;
//   - a resolver and an operator settle, and tell the truth.
//
// How often each fault happens on the way to a world is bounded by a [Setting], and so is time; within these
// bounds [Explore] visits every world that can be reached, once. In each it checks the promises (check.go,
// check_step.go), and that every caller can reach an answer by itself (alone.go).
//
// # What is left out without losing anything
//
//   - A caller that is stopped is one that does nothing from now on. Nothing forces a caller to go on, so
//     every world is followed by those in which any of them are stopped.
//   - Callers that are alike begin in the order of their numbers.
//   - A command that does not arrive as soon as it is sent arrives after time has passed. Until then only
//     its sender could tell, and it might as well have sent it later. Likewise for replies, and for those
//     only if it matters to the flow when they come.
//   - An effect comes when somebody is about to look whether it did, when its action ends, or at the last
//     moment. The promises treat an effect that may still come like one that did.
//   - Late commands that can change nothing any more are dropped (bury.go).
//   - What can no longer matter is forgotten: flows keep their essence, a caller that is gone keeps what
//     its action did, a record keeps neither when it was claimed nor, once that is long ago, when its
//     lease ended.
package explore
