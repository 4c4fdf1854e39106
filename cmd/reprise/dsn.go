package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
	"github.com/reprise-dev/reprise/store/redisstore"
)

// place is what a DSN names: where records are kept, and how.
type place struct {
	shown string // the DSN as people may see it: without a password
	class class
	path  string       // of a store inFile
	log   *slog.Logger // is told of what a store finds out by itself; nil is nobody
	// open opens the store. Where there must be one and is none, the error is [fs.ErrNotExist].
	open func(ctx context.Context, may access) (s store.Store, created bool, err error)
	// init makes a new store, and tells of it on out; nil where each process makes its own.
	init func(ctx context.Context, secret secretSource, out io.Writer) error
	// acceptLoss makes the store usable again after it has lost data, as an operator has decided; nil where a
	// store does not keep track of that.
	acceptLoss func(ctx context.Context, who, why string) (redisstore.Act, error)
	// lossy is what a store that may have lost data knows of secrets; nil where acceptLoss is.
	lossy    func(ctx context.Context) ([]store.Secret, machine.Instant, error)
	schema   *schema // nil where there is none to look after
	noSchema string  // why there is none, and what to do instead
}

func (p *place) String() string { return p.shown }

// argument is the place as an argument that a person can paste into a shell.
func (p *place) argument() string {
	if strings.ContainsAny(p.shown, "&?;*$`\"\\ ()<>|#~!") && !strings.Contains(p.shown, "'") {
		return "'" + p.shown + "'"
	}
	return p.shown
}

// class is what decides whose a store is: who makes it, and where its secret comes from.
type class int

const (
	// inMemory: it ends with the process, and so does its secret.
	inMemory class = iota
	// inFile: the first process that uses it makes it, and its secret beside it.
	inFile
	// onServer: whoever deploys it makes it, with `store init` and `migrate up`, and gives every process
	// its secret. Processes that use it need no right to change its schema, and never do.
	onServer
)

// access is what opening a store inFile may do to what is there. A store onServer is always taken as it is.
type access int

const (
	mayCreate  access = iota // make a store where there is none, and bring an older schema up to date
	mayMigrate               // only the latter
	asItIs                   // neither: for whoever was only asked to look, or to change a record
)

// schema is how the schema of a place is looked after.
type schema struct {
	status  func(ctx context.Context) (schemaStatus, error)
	migrate func(ctx context.Context) (schemaStatus, error)
	// print returns the SQL, and the rights of a role; "" is none.
	print func(role string) (string, error)
}

// schemaStatus is which schema there is, 0 for none, and which one this version makes.
type schemaStatus struct{ version, latest int64 }

// kind is a kind of store.
type kind struct {
	schemes []string
	form    string // how a DSN is written
	parse   func(dsn, rest string) (*place, error)
}

// kinds is what DSNs can be, in this version.
func kinds() []kind {
	return []kind{
		{[]string{"memory"}, "memory:", memoryPlace},
		{[]string{"sqlite"}, "sqlite:PATH", sqlitePlace},
		{[]string{"postgres", "postgresql"}, "postgres://USER@HOST/DATABASE", postgresPlace},
		{[]string{"mysql"}, "mysql://USER@HOST/DATABASE", mysqlPlace},
		{[]string{"redis", "rediss", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel"}, "redis://USER@HOST/DATABASE, redis+sentinel://USER@HOST,HOST/MASTER/DATABASE, redis+cluster://USER@HOST,HOST", redisPlace},
	}
}

// word is a text that cannot have a password in it: the beginning of a DSN, or a path without one.
var word = regexp.MustCompile(`^[\w./\\~+-]*$`)

// parsePlace reads the DSN of the store that a command works on, and opens nothing.
func parsePlace(dsn string) (*place, error) { return placeOf("--store", dsn) }

// placeOf reads a DSN, and opens nothing. A refusal names what said it, and does not repeat what may be a password.
func placeOf(said, dsn string) (*place, error) {
	scheme, rest, ok := strings.Cut(dsn, ":")
	var forms []string
	for _, k := range kinds() {
		forms = append(forms, k.form)
		for _, s := range k.schemes {
			if ok && s == scheme {
				p, err := k.parse(dsn, rest)
				if err != nil {
					return nil, usageError{fmt.Errorf("%s: %s", said, printable(err.Error()))}
				}
				return p, nil
			}
		}
	}
	known := "this version has " + strings.Join(forms, ", ")
	switch {
	case !ok && word.MatchString(dsn):
		return nil, usageError{fmt.Errorf("%s %q names no kind of store; %s: did you mean %q?", said, dsn, known, "sqlite:"+dsn)}
	case !ok || !word.MatchString(scheme):
		return nil, usageError{errors.New(said + " names no kind of store; " + known)}
	}
	return nil, usageError{fmt.Errorf("%s %q is not a store of this version; %s", said, scheme+":…", known)}
}

// openedStore is a store that a DSN named.
type openedStore struct {
	store.Store
	place   *place
	created bool // nothing was there before
}

// Unwrap implements [store.Unwrapper].
func (s *openedStore) Unwrap() store.Store { return s.Store }

// openStore opens the store of a place, except one that no other process could have put anything into.
func (p *place) openStore(ctx context.Context, may access) (*openedStore, error) {
	if p.class == inMemory && may != mayCreate {
		return nil, usageError{errors.New("memory: is the memory of the process that made it, and no other can look into it")}
	}
	s, created, err := p.open(ctx, may)
	if err != nil {
		return nil, err
	}
	if p.class == onServer {
		s = newDeclared(s, p)
	}
	return &openedStore{Store: s, place: p, created: created}, nil
}
