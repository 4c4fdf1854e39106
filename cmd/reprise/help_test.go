package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What a command says about itself fits a terminal of 80 columns, and the words of a command stay on one line.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	for path := range commands(newRootCommand(process{})) {
		words := strings.Fields(path)
		for n := range len(words) + 1 {
			help := must(t, append(words[:n:n], "--help")...)
			for line := range strings.Lines(help) {
				if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > helpWidth {
					t.Errorf("reprise %s: %d columns: %s", strings.Join(words[:n], " "), utf8.RuneCountInString(line), line)
				}
				if strings.Count(line, "`")%2 != 0 {
					t.Errorf("reprise %s: a command is broken: %s", strings.Join(words[:n], " "), line)
				}
			}
		}
	}
}

func TestFolded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"one two\nthree":                 "one two\nthree",
		"one\ntwo":                       "one two",
		"one two three":                  "one two\nthree",
		"a long-long-word b":             "a\nlong-long-word\nb",
		"run `go run x` now":             "run\n`go run x`\nnow",
		"one\n\ntwo":                     "one\n\ntwo",
		"  -a  it is so\n  -b  no\nthen": "  -a  it\n      is\n      so\n  -b  no\nthen",
		"ä ö ü ß ä ö":                    "ä ö ü ß ä\nö",
	} {
		if got := folded(text, 10); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
