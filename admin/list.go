package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// Query chooses records. Zero fields do not restrict.
type Query struct {
	// States are judged states: an execution that was interrupted is found under Abandoned.
	States []machine.State
	// Operation is an operation's name, compared exactly.
	Operation string
	// OlderThan restricts to records whose present attempt was claimed longer ago than this.
	OlderThan time.Duration
	// Cursor is that of the page before; empty for the first.
	Cursor string
	// Limit is how many records a page holds at most, up to 1000. Default 100.
	Limit int
}

// Page is a part of a listing. It may hold fewer records than asked for, or none, and still have a next.
type Page struct {
	Records []Record
	// Unreadable are the digests of records that are there and cannot be read.
	Unreadable []string
	// Next is the cursor of the next page; empty after the last.
	Next string
	// At is the store's time at which the states were judged.
	At time.Time
	// Partial marks a listing that does not look at every record; ScannedAt says how old it is.
	Partial   bool
	ScannedAt time.Time
}

// List returns the records that fit, in the store's order.
func (s *Service) List(ctx context.Context, q Query) (Page, error) {
	lister, err := need[store.Lister](s.store, "list records")
	if err != nil {
		return Page{}, err
	}
	filter := store.Filter{States: q.States, Operation: q.Operation}
	found, err := lister.List(ctx, filter, q.Cursor, min(orDefault(q.Limit, 100), 1000))
	if errors.Is(err, store.ErrCursor) || errors.Is(err, store.ErrLimit) {
		return Page{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if err != nil {
		return Page{}, fmt.Errorf("listing records: %w", err)
	}
	page := Page{Next: found.Next, At: found.At.Time(), Partial: found.Partial, ScannedAt: timeOf(found.ScannedAt)}
	for _, r := range found.Records {
		if q.OlderThan <= 0 || found.At.Sub(r.Claimed) > q.OlderThan {
			page.Records = append(page.Records, recordOf(r, found.At))
		}
	}
	for _, d := range found.Unreadable {
		page.Unreadable = append(page.Unreadable, d.String())
	}
	return page, nil
}

// Show returns one record, as judged now.
func (s *Service) Show(ctx context.Context, digest machine.Digest) (Record, error) {
	reply, err := s.inspect(ctx, digest)
	if err != nil {
		return Record{}, err
	}
	return recordOf(reply.Record, reply.At), nil
}

// Response returns the answer of a record, or the evidence of one that has no answer. It may contain
// what only the caller of the operation should see. It is ErrNotFound when there is none. It belongs to
// the store: do not change its data.
func (s *Service) Response(ctx context.Context, digest machine.Digest) (machine.Response, error) {
	reply, err := s.inspect(ctx, digest)
	if err != nil {
		return machine.Response{}, err
	}
	if reply.Record.Response.IsZero() {
		return machine.Response{}, fmt.Errorf("%w: record %v has no answer", ErrNotFound, digest)
	}
	return reply.Record.Response, nil
}

func (s *Service) inspect(ctx context.Context, digest machine.Digest) (machine.Reply, error) {
	reply, err := s.store.Apply(ctx, machine.Inspect{Scope: machine.Scope{Digest: digest}})
	switch {
	case err != nil:
		return reply, fmt.Errorf("reading record %v: %w", digest, err)
	case reply.Outcome == machine.Invalid:
		return reply, fmt.Errorf("%w: %s", ErrInvalid, reply.Reason)
	case reply.Outcome == machine.NotFound:
		return reply, fmt.Errorf("%w: %v (it may have been forgotten)", ErrNotFound, digest)
	}
	return reply, nil
}

const (
	minPrefix   = 8
	scanForFind = 100_000 // records
)

// Find returns the digest that a person means: all 64 characters of it, or at least the first 8. For
// a part it looks through the listing, up to 100,000 records; in a larger store, give the whole.
func (s *Service) Find(ctx context.Context, text string) (machine.Digest, error) {
	text = strings.ToLower(text)
	if digest, err := machine.ParseDigest(text); err == nil {
		return digest, nil
	}
	var none machine.Digest
	if len(text) < minPrefix || len(text) > 2*len(none) || strings.Trim(text, "0123456789abcdef") != "" {
		return none, fmt.Errorf("%w: %q is not a digest: give all 64 hexadecimal characters, or at least the first %d", ErrInvalid, text, minPrefix)
	}
	lister, err := need[store.Lister](s.store, "find a digest by its beginning: give all 64 characters")
	if err != nil {
		return none, err
	}
	return s.findPrefix(ctx, lister, text)
}

func (s *Service) findPrefix(ctx context.Context, lister store.Lister, prefix string) (machine.Digest, error) {
	var found machine.Digest
	cursor, seen := "", 0
	for {
		page, err := lister.List(ctx, store.Filter{}, cursor, s.options.Batch)
		if err != nil {
			return found, fmt.Errorf("listing records: %w", err)
		}
		for _, d := range digestsOf(page) {
			if !strings.HasPrefix(d.String(), prefix) {
				continue
			}
			if !found.IsZero() {
				return machine.Digest{}, fmt.Errorf("%w: more than one record begins with %s: give more of the digest", ErrInvalid, prefix)
			}
			found = d
		}
		cursor, seen = page.Next, seen+len(page.Records)
		switch {
		case cursor == "" && found.IsZero():
			return found, fmt.Errorf("%w: none begins with %s", ErrNotFound, prefix)
		case cursor == "":
			return found, nil
		case seen >= scanForFind:
			return machine.Digest{}, fmt.Errorf("%w: the store has more than %d records: give all 64 characters of the digest", ErrInvalid, scanForFind)
		}
	}
}

func digestsOf(page store.Page) []machine.Digest {
	all := append([]machine.Digest(nil), page.Unreadable...)
	for _, r := range page.Records {
		all = append(all, r.Scope.Digest)
	}
	return all
}

// need finds an optional interface of the store.
func need[T any](s store.Store, what string) (T, error) {
	found, ok := store.As[T](s)
	if !ok {
		return found, fmt.Errorf("%w: it cannot %s", store.ErrUnsupported, what)
	}
	return found, nil
}
