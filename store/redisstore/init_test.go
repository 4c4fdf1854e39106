package redisstore

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/reprise-dev/reprise/machine"
)

// A making that stopped at any place leaves a store that nobody opens, and that the next one completes.
func TestMakingThatStoppedHalfWay(t *testing.T) {
	t.Parallel()
	for name, undo := range map[string]func(d *database){
		"at the beginning": func(d *database) {
			for b := range Buckets {
				d.do("DEL", d.names.generation(b), d.names.identities(b))
			}
		},
		"among the generations": func(d *database) {
			for b := range Buckets {
				if d.do("DEL", d.names.identities(b)); b%2 == 1 {
					d.do("DEL", d.names.generation(b))
				}
			}
		},
		"before the servers": func(d *database) {
			for b := range Buckets {
				d.do("DEL", d.names.identities(b))
			}
		},
		"at the end": func(*database) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			generation, err := d.do("GET", d.names.generation(0)).ToString()
			if err != nil {
				t.Fatal(err)
			}
			d.do("SET", d.names.making(), generation)
			undo(d)
			if _, err := Open(t.Context(), d.dsn, d.options); err == nil || !errors.Is(err, fs.ErrNotExist) && !strings.Contains(err.Error(), "half-way") {
				t.Errorf("opened half-way: %v", err)
			}
			if err := InitNew(t.Context(), d.dsn, d.options); err != nil {
				t.Fatal(err)
			}
			want(t, d.open(), machine.Acquired, newBegin())
			for b := range Buckets {
				if got, err := d.do("GET", d.names.generation(b)).ToString(); err != nil || got != generation {
					t.Fatalf("bucket %d has the generation %q, %v", b, got, err)
				}
			}
			if err := InitNew(t.Context(), d.dsn, d.options); !errors.Is(err, fs.ErrExist) {
				t.Errorf("made again: %v", err)
			}
		})
	}
}

// What is not of the same making, or on the same server, is not completed.
func TestMakingIsNotMistakenForALoss(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(d *database){
		"a bucket from before": func(d *database) { d.do("SET", d.names.generation(7), "another one 1234") },
		"another server":       func(d *database) { d.do("SET", d.names.identities(0), fmt.Sprint(Identity{"run", "history"})) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t)
			generation, err := d.do("GET", d.names.generation(0)).ToString()
			if err != nil {
				t.Fatal(err)
			}
			d.do("SET", d.names.making(), generation)
			harm(d)
			if err := InitNew(t.Context(), d.dsn, d.options); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "--accept-loss") {
				t.Errorf("completed: %v", err)
			}
		})
	}
}

// A Redis with records and without generations is no new one: it has lost them, and the keys of these records would run again.
func TestRecordsWithoutGenerationsAreNoNewStore(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	want(t, d.open(), machine.Acquired, newBegin())
	for b := range Buckets {
		d.do("DEL", d.names.generation(b), d.names.identities(b))
	}
	if err := InitNew(t.Context(), d.dsn, d.options); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "--accept-loss") {
		t.Errorf("made as a new store: %v", err)
	}
	if n, err := d.do("EXISTS", d.names.generation(0), d.names.making()).AsInt64(); n != 0 || err != nil {
		t.Errorf("something was written: %d keys, %v", n, err)
	}
	if _, err := AcceptLoss(t.Context(), d.dsn, "an operator", "a test", d.options); err != nil {
		t.Fatal(err)
	}
	want(t, d.open(), machine.Acquired, newBegin())
}
