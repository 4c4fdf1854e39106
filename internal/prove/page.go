package main

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// page returns the document with the results.
func page(results []result) string {
	var b strings.Builder
	b.WriteString("# Proof\n\n" +
		"What the long proofs found when they last ran. `make prove` runs them and writes this page; each is a set of tests, made\n" +
		"long by `REPRISE_PROVE=1`. `make test` runs the same tests with smaller numbers.\n\n" +
		"| What is shown | How | How many | Result | Took | When (UTC) |\n|---|---|---|---|---|---|\n")
	for _, r := range results {
		verdict := "ok"
		if !r.ok {
			verdict = "**FAILED**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %v | %s |\n", r.what, r.how, r.tried(), verdict, r.took, r.at.Format(time.DateOnly))
	}
	fmt.Fprintf(&b, "\nAt revision %s, with %s on %s/%s.\n", revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return b.String()
}

// revision names what was proved.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
