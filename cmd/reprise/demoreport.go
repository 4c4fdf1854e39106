package main

import (
	"fmt"
	"io"
	"strings"
)

// evidence is what can be seen of a request, beside the line that tells about it.
type evidence struct {
	status string // of the answer, "201" or "50 x 201"
	order  string // its number in the answer
	made   int    // orders that the service has made so far
	says   string // what Reprise says about the answer: replayed, or the type of the problem
}

const reportLine = "  %-6s  %-46s %8s %6s %6s  %s"

// report prints the lines, and knows whether all came out as promised.
type report struct {
	out    io.Writer
	lines  int
	failed int
}

func (r *report) head() {
	r.row("", "", "", "", "orders", "")
	r.row("", "", "status", "order", "made", "")
}

// line prints one line: what was done, what came out, and what was promised if that is something else.
func (r *report) line(text string, got, want evidence) {
	r.lines++
	mark := "ok"
	if got != want {
		mark = "FAILED"
		r.failed++
	}
	r.row(mark, text, got.status, got.order, fmt.Sprint(got.made), got.says)
	if got != want {
		r.row("", "this was promised:", want.status, want.order, fmt.Sprint(want.made), want.says)
	}
}

func (r *report) row(mark, text, status, order, made, says string) {
	row := fmt.Sprintf(reportLine, mark, text, status, order, made, says)
	fmt.Fprintln(r.out, strings.TrimRight(row, " "))
}

// shell prints a command and what it printed, as in a terminal.
func (r *report) shell(command, output string) {
	fmt.Fprintln(r.out)
	for line := range strings.Lines("$ " + command + "\n" + output) {
		fmt.Fprintln(r.out, strings.TrimRight("          "+line, " \n"))
	}
}

// end says how it went.
func (r *report) end() error {
	if r.failed > 0 {
		return fmt.Errorf("%d of %d lines did not come out as promised", r.failed, r.lines)
	}
	fmt.Fprintf(r.out, "\n  All %d lines came out as promised.\n", r.lines)
	return nil
}
