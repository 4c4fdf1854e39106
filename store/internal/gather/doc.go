// Package gather is how a process comes to terms with itself before it asks a database: what callers want at
// the same time is done together ([Group]), callers who want the same key come one after the other ([Turns]),
// and what was written a moment ago need not be read again ([Memory]).
package gather
