package meterledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Changes is what the ledger holds of the changes that Redis made to a line or a family in a generation.
type Changes struct {
	// Count is how many it holds, rows and grants, and Highest the highest version among them.
	Count, Highest int64
	// Unfolded is how many rows no fold has taken in, of whatever generation.
	Unfolded int64
	// Unconfirmed is how many grants of the months that are due are not known to be in Redis: they are under way.
	Unconfirmed int64
}

// GapFree reports whether every change up to the highest is held: versions count from 1, each is held once.
func (c Changes) GapFree() bool { return c.Count == c.Highest }

// Drained returns [ErrNotDrained] unless exactly so many changes of a line are held, and all of its rows are folded.
func (c Changes) Drained(line string, version int64) error {
	switch {
	case c.Unfolded > 0:
		return fmt.Errorf("%w: %d rows of line %s are not folded: fold first", ErrNotDrained, c.Unfolded, line)
	case c.Count != version || c.Highest != version:
		return fmt.Errorf("%w: Redis has made %d changes to line %s, and the ledger holds %d, up to the %d.: flush first", ErrNotDrained, version, line, c.Count, c.Highest)
	}
	return nil
}

// Changes returns what the ledger holds of owners, named as by [meter.UnitTag]: f:<family> and l:<line>, of lines
// in families too; due are the months whose grants have to be in Redis. An owner of which it holds nothing is not in the map. The cost grows with what is not folded,
// not with the log.
func (l *Ledger) Changes(ctx context.Context, g meter.Generation, owners []string, due meter.Span) (all map[string]Changes, err error) {
	var lines, families []string
	for _, tag := range owners {
		if line, ok := strings.CutPrefix(tag, lineTag); ok {
			lines = append(lines, line)
		} else {
			families = append(families, strings.TrimPrefix(tag, familyTag))
		}
	}
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		all, err = l.changesOf(tx, g, lines, families, due)
		return err
	})
	return all, err
}

// What the names of owners begin with.
const (
	lineTag   = "l:"
	familyTag = "f:"
)

func (l *Ledger) changesOf(tx *database.Tx, g meter.Generation, lines, families []string, due meter.Span) (map[string]Changes, error) {
	lineText, err := database.IDs(once(lines))
	if err != nil {
		return nil, err
	}
	familyText, err := database.IDs(once(families))
	if err != nil {
		return nil, err
	}
	first, last := bounds(due)
	all := map[string]Changes{}
	var tag string
	var c Changes
	return all, tx.Each(l.sql.changes, []any{lineText, familyText, string(g), first, last}, []any{&tag, &c.Count, &c.Highest, &c.Unfolded, &c.Unconfirmed}, func() error {
		sum := all[tag]
		all[tag] = Changes{sum.Count + c.Count, max(sum.Highest, c.Highest), sum.Unfolded + c.Unfolded, sum.Unconfirmed + c.Unconfirmed}
		return nil
	})
}

// once returns the texts, each once: what is asked for twice would be counted twice.
func once(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }
