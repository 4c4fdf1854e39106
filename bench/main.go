package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// settings are the command line.
type settings struct {
	rounds     int
	operations int // of the memory part
	big        int // records in the table of the part postgres-big, rows of meter-big, and daily totals of restore-big; 0 leaves them out
	only       string
	dir        string // scratch, on a real disk
}

// part is a group of measurements.
type part struct {
	name string
	run  func(ctx context.Context, s settings, t *table) error
}

func parts() []part {
	all := []part{
		{"guard", benchGuard},
		{"proxy", benchProxy},
		{"memory", benchMemory},
	}
	for _, c := range contenders() {
		all = append(all, part{c.part, c.bench})
	}
	return append(all, []part{
		{"postgres-size", onPostgres(nil, benchSize)},
		{"postgres-effects", onPostgres(nil, benchEffects)},
		{"postgres-busy", onPostgres(nil, benchBusyKey)},
		{"postgres-purge", onPostgres(nil, benchPurge)},
		{"postgres-big", benchBig},
		{"store-copy", onPostgres(nil, benchCopy)},
		{"mysql-effects", benchMySQLEffects},
		{"redis-size", onRedis(benchRedisSize)},
		{"redis-effects", onRedis(benchRedisEffects)},
		{"redis-durable", onRedis(benchRedisDurable)},
		{"meter", benchMeter},
		{"meter-big", benchMeterBig},
		{"restore", benchRestore},
		{"restore-big", benchRestoreBig},
	}...)
}

func names() string {
	var all []string
	for _, p := range parts() {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

func main() {
	if err := serveChild(); err != nil {
		fail(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

func run(ctx context.Context) (err error) {
	var s settings
	flag.IntVar(&s.rounds, "rounds", 7, "rounds of each measurement; the table shows their median")
	flag.IntVar(&s.operations, "operations", 1_000_000, "operations of the memory part")
	flag.IntVar(&s.big, "big", 0, "records in the table of the part postgres-big, rows in the done log of meter-big, and daily totals of restore-big, such as 10000000; 0 leaves them out")
	flag.StringVar(&s.only, "only", "", "comma-separated parts: "+names())
	flag.StringVar(&s.dir, "dir", os.TempDir(), "directory for scratch files; it should be on the disk that matters to you")
	flag.Parse()
	if s.dir, err = os.MkdirTemp(s.dir, "reprise-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)

	t := newTable(os.Stdout)
	wanted := strings.Split(s.only, ",")
	for _, p := range parts() {
		if s.only != "" && !contains(wanted, p.name) {
			continue
		}
		if err := p.run(ctx, s, t); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", p.name, err), t.print(s)) // what was measured is not lost
		}
	}
	return t.print(s)
}

func contains(list []string, name string) bool {
	for _, l := range list {
		if strings.TrimSpace(l) == name {
			return true
		}
	}
	return false
}
