package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// Status is what is known of a line or a family in a month.
type Status struct {
	Line   string   `json:"line_id,omitempty"`
	Family string   `json:"family_id,omitempty"`
	Lines  []string `json:"lines,omitempty"` // of a family
	// Month is the one that is shown, and Day the one of the counters: today, or the month's last.
	Month meter.Month `json:"month"`
	Day   meter.Day   `json:"day"`
	Plan  Amounts     `json:"plan"`
	// Granted is what SQL has granted in the month, and Unconfirmed how many of its grants are not known to be in Redis.
	Granted     Amounts `json:"granted"`
	Unconfirmed int64   `json:"unconfirmed_grants"`
	// Decides says that events are decided. Otherwise Why says what keeps them from it.
	Decides    bool             `json:"decides"`
	Why        []Cause          `json:"why,omitempty"`
	Generation meter.Generation `json:"generation"` // that the ledger believes
	// SQL is what follows from the ledger, and Redis what Redis has; nil if it cannot be asked. They may differ by what is under way.
	SQL   *Holding `json:"sql"`
	Redis *Holding `json:"redis"`
}

// Amounts are bytes of each kind of allowance.
type Amounts struct {
	Individual int64 `json:"individual"`
	QoS        int64 `json:"qos"`
	Shared     int64 `json:"shared"`
}

// Holding is what one of the two has.
type Holding struct {
	// Version is how often line or family were changed in this generation.
	Version int64 `json:"version"`
	// Left is what is left of the allowances of the month. Shared is the family's.
	Left Amounts `json:"left"`
	// Today is what a line was served on the day, and Apps of each app. MonthlyShared is what it took of its family's allowance.
	Today         int64              `json:"today"`
	Apps          map[string]Amounts `json:"apps,omitempty"`
	MonthlyShared int64              `json:"monthly_shared"`
}

// Line says what is known of a line in a month; 0 is the present one.
func (i *Inspector) Line(ctx context.Context, now time.Time, line string, month meter.Month) (Status, error) {
	known, err := i.Ledger.Lines(ctx, []string{line})
	if err != nil {
		return Status{}, err
	}
	plan, ok := known[line]
	if !ok {
		return Status{}, fmt.Errorf("%w: line %q", meterledger.ErrUnknown, line)
	}
	s := Status{Line: line, Family: plan.Family, Plan: Amounts{Individual: plan.Individual, QoS: plan.QoS}}
	return s, i.fill(ctx, now, month, meterredis.Members{Family: plan.Family, Lines: []string{line}}, &s)
}

// Family says what is known of a family in a month; 0 is the present one.
func (i *Inspector) Family(ctx context.Context, now time.Time, family string, month meter.Month) (Status, error) {
	known, err := i.Ledger.Families(ctx, []string{family})
	if err != nil {
		return Status{}, err
	}
	plan, ok := known[family]
	if !ok {
		return Status{}, fmt.Errorf("%w: family %q", meterledger.ErrUnknown, family)
	}
	s := Status{Family: family, Plan: Amounts{Shared: plan.Shared}}
	return s, i.fill(ctx, now, month, meterredis.Members{Family: family}, &s)
}

// fill reads both sides.
func (i *Inspector) fill(ctx context.Context, now time.Time, month meter.Month, members meterredis.Members, s *Status) error {
	s.Day = i.Calendar.Day(now)
	if s.Month = month; month == 0 {
		s.Month = i.Calendar.MonthOf(s.Day)
	}
	if i.Calendar.MonthOf(s.Day) != s.Month {
		s.Day = i.Calendar.LastDay(s.Month)
	}
	tag := meter.UnitTag(s.Line, s.Family)
	held, err := i.Ledger.Read(ctx, meterledger.Unit(tag), meterledger.Horizon{Months: meter.Span{First: s.Month, Last: meter.LastMonth}, Day: s.Day})
	if err != nil {
		return err
	}
	book, err := meter.Rebuild(held.Source)
	if err != nil {
		return fmt.Errorf("what SQL holds of %s does not fit together: %w", tag, err)
	}
	if s.Line == "" {
		for line := range held.Source.Members {
			s.Lines = append(s.Lines, line)
		}
		slices.Sort(s.Lines)
	}
	s.Generation = held.Source.Generation
	owner := meter.UnitTag(s.Line, "")
	if s.Line == "" {
		owner = tag
	}
	s.granted(held)
	s.SQL = s.holding(book, held.Changes[owner].Count)
	var seen *meterredis.Observed
	seen, s.Why = i.observe(ctx, unit{members, held, s.Month, held.Policies.Global.Get(meter.Gate)}, []meter.Day{s.Day})
	if s.Decides = len(s.Why) == 0; seen != nil {
		version := seen.Book.FamilyVersions[s.Family]
		if s.Line != "" {
			version = seen.Book.LineVersions[s.Line]
		}
		s.Redis = s.holding(seen.Book, version)
	}
	return nil
}

func (s *Status) granted(held meterledger.Holdings) {
	for _, g := range held.Grants {
		if g.Month == s.Month && (s.Line != "" && g.Line == s.Line || g.Family != "" && g.Family == s.Family) {
			if !g.Confirmed() {
				s.Unconfirmed++
			}
			s.Granted.Individual += g.Individual
			s.Granted.QoS += g.QoS
			s.Granted.Shared += g.Shared
		}
	}
}

// holding takes what matters out of a book.
func (s *Status) holding(b *meter.Book, version int64) *Holding {
	h := &Holding{Version: version, Left: Amounts{Shared: b.Shared[meter.MonthKey{Owner: s.Family, Month: s.Month}].Amount}}
	if s.Line == "" {
		return h
	}
	own := b.Individual[meter.MonthKey{Owner: s.Line, Month: s.Month}]
	h.Left.Individual, h.Left.QoS = own.Amount, own.QoS
	h.Today = b.DailyTotal[meter.DayKey{Line: s.Line, Day: s.Day}]
	h.MonthlyShared = b.MonthlyShared[meter.MonthKey{Owner: s.Line, Month: s.Month}].Amount
	for key, usage := range b.DailyApp {
		if key.Line == s.Line && key.Day == s.Day {
			if h.Apps == nil {
				h.Apps = map[string]Amounts{}
			}
			h.Apps[key.App] = Amounts{usage.Individual, usage.QoS, usage.Shared}
		}
	}
	return h
}
