// Package killtest kills a process that places orders, again and again, at random moments, and looks what is
// left. It is for stores whose effects commit together with their records: each key that was tried, in the
// process or again after it, ends with one order and one answer.
//
// The process is the test binary itself. It calls [Place]; the test calls [Run].
package killtest
