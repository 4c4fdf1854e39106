// Package killtest is about several processes, each of which is the test binary itself.
//
// [Run] kills a process that places orders, again and again, at random moments, and looks what is left. It is for
// stores whose effects commit together with their records: each key that was tried, in the process or again after
// it, ends with one order and one answer. The process calls [Place].
//
// [Together] lets several processes go at once, which call [Ready] or [Burst].
package killtest
