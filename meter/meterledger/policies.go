package meterledger

import (
	"context"

	"github.com/reprise-dev/reprise/internal/database"
	"github.com/reprise-dev/reprise/meter"
)

// Policies are the policies of everybody, and those that lines have of their own.
type Policies struct {
	Global meter.PolicySet
	Lines  map[string]meter.PolicySet
}

// Policies returns the current versions: the global ones, and those of some lines.
func (l *Ledger) Policies(ctx context.Context, lines []string) (p Policies, err error) {
	err = l.db.Look(ctx, func(tx *database.Tx) error {
		p, err = l.policiesOf(tx, lines)
		return err
	})
	return p, err
}

func (l *Ledger) policiesOf(tx *database.Tx, lines []string) (Policies, error) {
	all := Policies{Lines: map[string]meter.PolicySet{}}
	text, err := database.IDs(append([]string{""}, lines...))
	if err != nil {
		return all, err
	}
	var line, settings string
	var id meter.PolicyID
	var version int64
	return all, tx.Each(l.sql.policies, []any{text}, []any{&line, &id, &version, &settings}, func() error {
		p, err := meter.ParsePolicy(id, version, settings)
		if err != nil {
			return unreadable("policy in meter_policies of line "+line, err)
		}
		if line == "" {
			all.Global = all.Global.With(p)
		} else {
			all.Lines[line] = all.Lines[line].With(p)
		}
		return nil
	})
}

// PutGate opens or closes the gate for a restore, if it is not so already, and returns it. An older epoch than the highest is [ErrLate].
func (l *Ledger) PutGate(ctx context.Context, epoch int64, open bool, who string) (gate meter.Policy, err error) {
	text := "open=no"
	if open {
		text = gateOpen
	}
	err = l.db.Change(ctx, func(tx *database.Tx) error {
		if err := l.fence(tx, epoch); err != nil {
			return err
		}
		var version int64
		var is, by string
		if err := tx.One(l.sql.policyVersion, []any{"", int64(meter.Gate)}, &version, &is, &by); err != nil {
			return err
		}
		put := version == 0 || is != text
		if put {
			version++
		}
		if gate, err = meter.ParsePolicy(meter.Gate, version, text); err != nil || !put {
			return err
		}
		added, err := tx.Exec(l.sql.addPolicy, "", int64(meter.Gate), version, text, who)
		if err == nil && added == 0 {
			err = database.ErrAgain
		}
		return err
	})
	return gate, err
}

// PutPolicy adds the next version of a policy, a line's own or, without a line, everybody's, and returns it. The
// version that the caller has seen, 0 for none, has to be the current one, else it is [ErrConflict]. What
// was put already, by the same, is no conflict.
func (l *Ledger) PutPolicy(ctx context.Context, line string, id meter.PolicyID, seen int64, settings []meter.Field, who string) (meter.Policy, error) {
	p, err := meter.NewPolicy(id, seen+1, settings...)
	switch {
	case err != nil:
		return meter.Policy{}, err
	case line != "" && id == meter.Gate:
		return meter.Policy{}, refusal(meter.WrongType, "policy", "policy 8, the gate, is the same for everybody: leave out the line")
	}
	return p, l.db.Change(ctx, func(tx *database.Tx) error {
		if line != "" {
			lines, err := l.linesOf(tx, []string{line})
			if err != nil {
				return err
			}
			if len(lines) == 0 {
				return unknown("line", line)
			}
		}
		var version int64
		var text, by string
		if err := tx.One(l.sql.policyVersion, []any{line, int64(id)}, &version, &text, &by); err != nil {
			return err
		}
		switch {
		case version == seen+1 && text == p.Text() && by == who:
			return nil
		case version != seen:
			return conflict("policy %v is at version %d, and %d was seen: look at it again", id, version, seen)
		}
		added, err := tx.Exec(l.sql.addPolicy, line, int64(id), seen+1, p.Text(), who)
		if err == nil && added == 0 {
			err = database.ErrAgain
		}
		return err
	})
}
