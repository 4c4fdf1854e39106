package config

import (
	"fmt"
	"strings"
)

// Place is where a value was given: a line of a file, a flag, a variable.
type Place struct {
	Source string // "reprise.yaml", "--upstream", "REPRISE_UPSTREAM"
	Line   int    // 0 where there are none
}

func (p Place) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d", p.Source, p.Line)
}

// Mistake is something that must be changed before the program can start.
type Mistake struct {
	At  Place
	Key string // may be empty
	// Text says what is wrong, and what to write instead.
	Text string
}

func (m Mistake) String() string {
	var b strings.Builder
	if m.At.Source != "" {
		fmt.Fprintf(&b, "%v: ", m.At)
	}
	// A flag or a variable names the key by itself.
	if m.Key != "" && m.At.Line > 0 {
		fmt.Fprintf(&b, "%s: ", m.Key)
	}
	return b.String() + m.Text
}

// Mistakes are all that were found. It is an error with a line for each.
type Mistakes []Mistake

// Error implements error.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, mistake := range m {
		lines[i] = mistake.String()
	}
	return strings.Join(lines, "\n")
}

// nearest returns the candidate that a misspelt word was meant to be, or "".
func nearest(word string, candidates []string) string {
	best, found := len(word)/3+2, ""
	for _, c := range candidates {
		if d := distance(word, c); d < best {
			best, found = d, c
		}
	}
	return found
}

// maxWord is the length in bytes beyond which a word is not compared. It bounds the work.
const maxWord = 64

// distance counts the insertions, deletions, replacements and swaps of neighbours between two words.
func distance(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return maxWord
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := 1
			if a[i-1] == b[j-1] {
				changed = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// meant completes a refusal with the candidate that was probably meant, or with all of them if few.
func meant(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(candidates) <= 8 {
		return "; write one of " + strings.Join(candidates, ", ")
	}
	return ""
}
