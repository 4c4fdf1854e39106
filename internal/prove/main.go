// Command prove runs the long proofs and writes what they found into a table.
//
//	go run ./internal/prove -out docs/proof.md
//	go run ./internal/prove -out /tmp/proof.md -only 'store'
//
// Each proof is a set of tests, run with REPRISE_PROVE=1, which makes them long. How much was tried is
// counted from what the tests print. A proof that fails, or that tried nothing, is written down as such,
// and the exit code is 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	out := flag.String("out", "docs/proof.md", "file to write the table to")
	only := flag.String("only", "", "regular expression of the proofs to run; the others are left out of the table")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	var results []result
	failed := 0
	for _, p := range proofs() {
		if !wanted.MatchString(p.what) {
			continue
		}
		fmt.Fprintf(os.Stderr, "prove: %s\n", p.what)
		r := p.run(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted; %s has what was done before", *out)
		}
		if !r.ok {
			failed++
			fmt.Fprintf(os.Stderr, "%s\nprove: FAILED: %s\n", r.output, p.what)
		} else {
			fmt.Fprintf(os.Stderr, "prove: ok, %s, %v\n", r.tried(), r.took)
		}
		// Written after each proof: some take long, and what was found is not to be lost with the rest.
		results = append(results, r)
		if err := os.WriteFile(*out, []byte(page(results)), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d proofs failed", failed, len(results))
	}
	return nil
}
