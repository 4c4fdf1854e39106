package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// notRun stands where nothing is known.
const notRun = "not run"

// page returns the document with the results.
func page(r results) string {
	var b strings.Builder
	b.WriteString("# Proof\n\n" +
		"What the long proofs found when each of them last ran. `make prove` runs them and writes this page; each is a set of tests,\n" +
		"made long by `REPRISE_PROVE=1`. `make test` runs the same tests with smaller numbers.\n\n" +
		"## Every store\n\n| | " + strings.Join(places(), " | ") + " |\n|---" + strings.Repeat("|---", len(places())) + "|\n")
	for _, l := range lines() {
		fmt.Fprintf(&b, "| **%s**: %s |", l.what, l.how)
		for _, place := range places() {
			p := l.proof(place)
			cell := notRun
			if got, ok := r[p.what]; ok {
				cell = fmt.Sprintf("%s %s, %s, %s", got.tried(), p.unit, got.verdict(), got.At.Format(time.DateOnly))
			}
			fmt.Fprintf(&b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\n## Everything else\n\n| What is shown | How | How many | Result | Took | When (UTC) | At revision |\n|---|---|---|---|---|---|---|\n")
	for _, p := range single() {
		got, ok := r[p.what]
		if !ok {
			fmt.Fprintf(&b, "| %s | %s | | %s | | | |\n", p.what, p.how, notRun)
			continue
		}
		took := time.Duration(got.Seconds) * time.Second
		fmt.Fprintf(&b, "| %s | %s | %s %s | %s | %v | %s | %s |\n", p.what, p.how, got.tried(), p.unit, got.verdict(), took, got.At.Format(time.DateOnly), got.Revision)
	}
	fmt.Fprintf(&b, "\nWith %s on %s/%s. What each cell took and at which revision is in `proof.json`.\n", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return b.String()
}
