// Command prove runs the long proofs and writes what they found into tables.
//
//	go run ./internal/prove -out docs/proof.md
//	go run ./internal/prove -out docs/proof.md -only 'MariaDB'
//	go run ./internal/prove -out docs/proof.md -only '^$'  # runs nothing, and writes the page anew
//
// The results are kept beside the page, in docs/proof.json: a run of some proofs leaves what is known of the others.
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
	"strings"
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
	only := flag.String("only", "", "regular expression of the proofs to run; of the others the last result stays")
	list := flag.Bool("list", false, "print the proofs and run none")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	kept := strings.TrimSuffix(*out, ".md") + ".json"
	all, err := readResults(kept)
	if err != nil {
		return err
	}
	ran, failed := 0, 0
	for _, p := range proofs() {
		if !wanted.MatchString(p.what) {
			continue
		}
		if *list {
			fmt.Fprintln(os.Stdout, p.what)
			continue
		}
		fmt.Fprintf(os.Stderr, "prove: %s\n", p.what)
		r, output := p.run(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted; %s has what was done before", *out)
		}
		if ran++; !r.OK {
			failed++
			fmt.Fprintf(os.Stderr, "%s\nprove: FAILED: %s\n", output, p.what)
		} else {
			fmt.Fprintf(os.Stderr, "prove: ok, %s %s, %d s\n", r.tried(), p.unit, r.Seconds)
		}
		// Written after each proof: some take long, and what was found is not to be lost with the rest.
		all[p.what] = r
		if err := all.write(kept); err != nil {
			return err
		}
		if err := os.WriteFile(*out, []byte(page(all)), 0o644); err != nil {
			return err
		}
	}
	if ran == 0 && !*list { // the words of a proof may have changed
		if err := os.WriteFile(*out, []byte(page(all)), 0o644); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d proofs failed", failed, ran)
	}
	return nil
}
