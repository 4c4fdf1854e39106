// Package archtest holds the rules of this code base as tests: which way imports go, which calls are
// banned where, what every file and package must have.
//
// The source is parsed, not compiled, so a rule costs milliseconds. A [Rule] looks at one [Package] and
// returns what breaks it. [Rules] is the list; TestTree applies it to the whole module, and TestPlanted
// shows for each rule a piece of code that it must find.
//
// A rule that must give way in one place has an exception there, in exceptions.go, with the reason. An
// exception that nothing needs any more is itself an error.
package archtest
