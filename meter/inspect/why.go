package inspect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
	"github.com/reprise-dev/reprise/store"
)

// Cause is a reason for which nothing is decided.
type Cause struct {
	Reason meter.Reason `json:"reason"`
	Detail string       `json:"detail"`
}

// Reasons beside those of package meter.
const (
	// StoreUnavailable: Redis cannot be asked.
	StoreUnavailable meter.Reason = "store_unavailable"
	// StoreLost: Redis has lost what it had, or was never hydrated.
	StoreLost meter.Reason = "store_lost"
)

const hydrateNext = "hydrate or restore it: `reprise meter hydrate`"

// unit is what is looked at.
type unit struct {
	members meterredis.Members
	held    meterledger.Holdings
	month   meter.Month
	gate    meter.Policy // as SQL has it
}

func (u unit) tag() string {
	line := ""
	if len(u.members.Lines) > 0 {
		line = u.members.Lines[0]
	}
	return meter.UnitTag(line, u.members.Family)
}

// observe reads the unit from Redis. The causes say why it could not be read.
func (i *Inspector) observe(ctx context.Context, u unit, days []meter.Day) (*meterredis.Observed, []Cause) {
	if i.Meter == nil {
		return nil, []Cause{causeOf(i.Unopened)}
	}
	seen, err := i.Meter.Observe(ctx, u.members, days, []meter.Month{u.month})
	if err != nil {
		return nil, []Cause{causeOf(err)}
	}
	return &seen, i.why(u, seen)
}

func causeOf(err error) Cause {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Cause{StoreLost, "Redis was never hydrated, or has lost everything: " + hydrateNext}
	case errors.Is(err, store.ErrLost):
		return Cause{StoreLost, err.Error()}
	case err == nil:
		return Cause{StoreUnavailable, "Redis was not opened"}
	}
	return Cause{StoreUnavailable, err.Error()}
}

// why lists what keeps events of the unit from being decided, in the order in which the script looks.
func (i *Inspector) why(u unit, seen meterredis.Observed) (causes []Cause) {
	add := func(reason meter.Reason, format string, arguments ...any) {
		causes = append(causes, Cause{reason, fmt.Sprintf(format, arguments...)})
	}
	if !seen.Gate {
		switch {
		case u.gate.Version() == 0:
			add(meter.GateClosed, "policy 8 is not there: the meter was never hydrated: `reprise meter hydrate`")
		case u.gate.Text() == "open=yes":
			add(meter.GateClosed, "policy 8 is open in SQL and not in Redis, which has lost it: %s", hydrateNext)
		default:
			add(meter.GateClosed, "policy 8 is closed, since its version %d: a hydration or a restore is under way, or stopped", u.gate.Version())
		}
	} else if !seen.Policies {
		add(meter.PoliciesMissing, "not all global policies are in Redis: %s", hydrateNext)
	}
	believed := u.held.Source.Generation
	switch {
	case seen.Bucket == "":
		add(StoreLost, "Redis has no generation: it was emptied, or is another: %s", hydrateNext)
	case seen.Bucket != believed:
		add(meter.UnitNotHydrated, "Redis has generation %s, and the ledger believes %q: it is older or another, and decides nothing: %s", seen.Bucket, believed, hydrateNext)
	case seen.Unit.Generation != seen.Bucket || seen.Unit.Phase < meter.PhaseRows:
		add(meter.UnitNotHydrated, "the unit %s is not complete in this generation: the keeper lets in what is new within a minute; %s otherwise", u.tag(), hydrateNext)
	case !seen.Unit.Open:
		add(meter.UnitClosed, "the unit %s is closed: a line of it moves, or its move has stopped: repeat the move", u.tag())
	}
	return append(causes, i.whyMonth(u, seen)...)
}

// whyMonth looks at lines and allowances.
func (i *Inspector) whyMonth(u unit, seen meterredis.Observed) (causes []Cause) {
	add := func(reason meter.Reason, format string, arguments ...any) {
		causes = append(causes, Cause{reason, fmt.Sprintf(format, arguments...)})
	}
	const open = "`reprise meter open-month --month %v`, or wait for the keeper of a process that serves"
	if !seen.Book.Opened[meter.MonthKey{Owner: u.tag(), Month: u.month}] {
		add(meter.MonthNotOpen, "month %v is not open for the unit %s: "+open, u.month, u.tag(), u.month)
	}
	for _, line := range u.members.Lines {
		_, known := seen.Book.Members[line]
		switch {
		case seen.Moved[line]:
			add(meter.LineMoved, "line %s is in another unit", line)
		case !known:
			add(meter.UnknownLine, "Redis does not know line %s yet: the keeper lets it in within a minute", line)
		case !seen.Book.Individual[meter.MonthKey{Owner: line, Month: u.month}].Granted:
			add(meter.MissingAllowance, "line %s has no grant of %v: "+open, line, u.month, u.month)
		}
	}
	if family := u.members.Family; family != "" && !seen.Book.Shared[meter.MonthKey{Owner: family, Month: u.month}].Granted {
		add(meter.MissingAllowance, "family %s has no grant of %v: "+open, family, u.month, u.month)
	}
	return causes
}
