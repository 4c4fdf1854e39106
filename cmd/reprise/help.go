package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is that of a terminal which nobody has made larger.
const helpWidth = 80

// foldHelp makes the help of all commands fit a terminal: the template of usages, which is cobra's, and what is said about each.
func foldHelp(root *cobra.Command) {
	root.SetUsageTemplate(strings.NewReplacer(
		".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", helpWidth),
		" for more information about a command.", " to know more.",
	).Replace(root.UsageTemplate()))
	fold(root)
}

// fold breaks the lines of what is said about a command, and of those below it, for a terminal.
func fold(cmd *cobra.Command) {
	cmd.Long = folded(cmd.Long, helpWidth)
	for _, below := range cmd.Commands() {
		fold(below)
	}
}

// folded breaks lines where they would be too long. In a paragraph, which ends at an empty line, lines are joined before that; one
// that is indented stands for itself, and goes on further to the right.
func folded(text string, width int) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString("\n\n")
		}
		for j, line := range joined(paragraph) {
			if j > 0 {
				b.WriteByte('\n')
			}
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			further := indent
			if indent != "" {
				further += "    "
			}
			foldLine(&b, line, further, width)
		}
	}
	return b.String()
}

// joined returns the lines of a paragraph, of which those without an indentation are one with what is before them.
func joined(paragraph string) (lines []string) {
	for line := range strings.SplitSeq(paragraph, "\n") {
		if n := len(lines); n > 0 && !strings.HasPrefix(line, " ") && !strings.HasPrefix(lines[n-1], " ") {
			lines[n-1] += " " + line
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func foldLine(b *strings.Builder, line, further string, width int) {
	for {
		if utf8.RuneCountInString(line) <= width {
			b.WriteString(line)
			return
		}
		at := breakAt(line, len(further), width)
		if at < 0 {
			b.WriteString(line) // a word that is longer
			return
		}
		b.WriteString(strings.TrimRight(line[:at], " "))
		b.WriteByte('\n')
		line = further + strings.TrimLeft(line[at:], " ")
	}
}

// breakAt returns the last space behind from at which a line may be broken to fit, or the first that there is, or -1. What stands between
// backquotes is kept together.
func breakAt(line string, from, width int) int {
	at, column, quoted := -1, 0, false
	for i, r := range line {
		switch {
		case r == '`':
			quoted = !quoted
		case r == ' ' && !quoted && i > from && (column <= width || at < 0):
			at = i
		}
		column++
	}
	return at
}
