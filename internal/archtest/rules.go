package archtest

import "fmt"

// Finding is something that breaks a rule.
type Finding struct {
	// Where is a file and line, or a package.
	Where string
	// What is wrong, and what to do instead.
	What string
}

// Rule is one rule of the house.
type Rule struct {
	Name string
	// Because says which failure the rule prevents.
	Because string
	// Check returns what breaks the rule in a package.
	Check func(*Package) []Finding
}

// Rules are all rules that look at one package at a time.
func Rules() []Rule {
	return []Rule{
		{"imports", "a lower layer that knows a higher one cannot be tested or replaced alone", checkImports},
		{"pure packages", "what is pure can be explored exhaustively, and stores cannot disagree with it", checkPure},
		{"test libraries", "users would download and link what only the tests need", checkTestLibraries},
		{"banned calls", "see each entry of bannedCalls", checkCalls},
		{"no init", "work at import time cannot be refused, ordered or tested", checkInit},
		{"no panic", "a library does not end its user's process", checkPanic},
		{"no package state", "state of a package is shared by every guard, store and test of the process", checkState},
		{"package comment", "a newcomer begins there", checkPackageComment},
		{"exported names are documented", "units, errors and ownership cannot be read from a signature", checkDocumented},
		{"short files", "a file is about one thing and is read from top to bottom", checkLength},
		{"SQL in .sql files", "statements are read, explained and planned by people who do not read Go", checkSQL},
	}
}

// filter applies the exceptions to what the rules found. It returns what remains, and complains about
// exceptions that were of no use.
func filter(rule string, found []Finding, used map[exception]bool) []Finding {
	var left []Finding
	for _, f := range found {
		excused := false
		for _, e := range exceptions {
			if e.rule == rule && e.covers(f.Where) {
				used[e], excused = true, true
			}
		}
		if !excused {
			left = append(left, f)
		}
	}
	return left
}

func finding(where, format string, args ...any) Finding {
	return Finding{Where: where, What: fmt.Sprintf(format, args...)}
}
