// Command reprise puts the guard in front of an HTTP service, and looks after its records.
//
// Every command is made by a constructor in a file of its own and added in root.go. This package is the
// only place that names concrete stores (dsn.go).
//
// Exit codes: 0 done, 1 failed, 2 the command line or the configuration makes no sense.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], process{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(),
	}))
}
