package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
)

// table collects results and prints them at the end. While it waits it says on standard error what is
// being measured, because rounds take their time.
type table struct {
	out  io.Writer
	rows []row
}

// row is a result with the target it is held against; no target means that the figure is for information.
type row struct {
	what, against, got, target, verdict string
}

func newTable(out io.Writer) *table { return &table{out: out} }

func (t *table) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// atLeast adds a figure that should reach a target.
func (t *table) atLeast(what, against string, got, target float64, unit string) {
	t.add(what, against, number(got)+unit, "≥ "+number(target)+unit, got >= target)
}

// atMost adds a figure that should stay below a target.
func (t *table) atMost(what, against string, got, target float64, unit string) {
	t.add(what, against, number(got)+unit, "≤ "+number(target)+unit, got <= target)
}

// info adds a figure without a target.
func (t *table) info(what, against, got string) {
	t.rows = append(t.rows, row{what: what, against: against, got: got})
}

func (t *table) add(what, against, got, target string, ok bool) {
	verdict := "ok"
	if !ok {
		verdict = "MISSED"
	}
	t.rows = append(t.rows, row{what, against, got, target, verdict})
}

// print writes the table. A missed target is not an error of the program: the table says it.
func (t *table) print(s settings) error {
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "WHAT\tAGAINST\tGOT\tTARGET\t\n")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.what, r.against, r.got, r.target, r.verdict)
	}
	fmt.Fprintf(w, "\nmedians of %d rounds, both sides in turns; %s, %s/%s, %d processors\n",
		s.rounds, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	return w.Flush()
}

// number prints three significant digits without an exponent.
func number(f float64) string {
	switch {
	case f >= 100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// thousands prints a rate.
func thousands(f float64) string { return number(f/1000) + "k/s" }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// pair is what one round measured of the two sides.
type pair struct{ ours, limit float64 }

// inTurns measures both sides once a round, the first one alternating, and returns the medians of the
// sides and of the rounds' ratios.
func inTurns(rounds int, ours, limit func() (float64, error)) (medians pair, ratio float64, err error) {
	var a, b, ratios []float64
	for i := range rounds {
		var p pair
		first, second := func() { p.ours, err = ours() }, func() { p.limit, err = limit() }
		if i%2 == 1 {
			first, second = second, first
		}
		if first(); err != nil {
			return pair{}, 0, err
		}
		if second(); err != nil {
			return pair{}, 0, err
		}
		a, b, ratios = append(a, p.ours), append(b, p.limit), append(ratios, p.ours/p.limit)
	}
	return pair{median(a), median(b)}, median(ratios), nil
}
