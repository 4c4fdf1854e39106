package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// table prints rows with aligned columns.
type table struct {
	out  *tabwriter.Writer
	rows int
}

func newTable(out io.Writer) *table {
	return &table{out: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

func (t *table) empty() bool { return t.rows == 0 }

func (t *table) row(cells ...string) {
	t.rows++
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	_, _ = fmt.Fprintln(t.out, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
}

// field prints a name and its value, unless there is none.
func (t *table) field(name, value string) {
	if value != "" {
		t.row(name, value)
	}
}

func (t *table) print() error { return t.out.Flush() }

// printable takes out what would move the cursor or colour the terminal. What is recorded comes from
// outside.
func printable(s string) string { return strings.Map(visible, s) }

// printableText is printable for text of several lines.
func printableText(text []byte) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return visible(r)
	}, string(text))
}

func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}

// shortened returns at most n characters of a text that a table has no room for.
func shortened(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return s
}

// printLine prints a value as one line of JSON.
func printLine(out io.Writer, value any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// age says how long ago something was, to the precision that a person needs.
func age(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	switch d := now.Sub(since); {
	case d < time.Minute:
		return d.Truncate(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// moment prints a time as it is stored; nothing when it is not set.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000Z07:00")
}
