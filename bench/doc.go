// Command bench measures Reprise against the limit: the same work with no guard, or the plainest thing
// that could do the job. It prints one table of ratios.
//
// Absolute figures depend on the machine and its mood. So both sides of a ratio are measured in one run,
// in turns, and the table shows the median of the rounds. Run it on a machine that does nothing else:
//
//	make bench                                            everything, with a million operations for the memory
//	make bench ARGS='-only sqlite,proxy'                  some parts; -help lists them
//	make bench ARGS='-rounds 11'                          more rounds
//	make bench ARGS='-only postgres-big -big 10000000'    with that many records in the table; takes long
//	make bench ARGS='-only meter-big -big 10000000'       a meter with that many rows, and a tenth of that in lines; takes long
//	make bench ARGS='-only restore-big -big 3000000'      a restore of that many daily totals, and a third of that in lines; takes long
//
// This is a module of its own, so that users of the library never download what only comparisons need.
//
// To add a store: a line in contenders (stores.go) that says how to open it and what the limit is. Servers
// are those of internal/servicetest.
package main
