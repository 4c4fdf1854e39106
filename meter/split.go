package meter

import "strings"

// Split is what became of an amount. Its parts are not negative, and their sum is the amount.
type Split struct {
	Individual int64 // from the line's own allowance
	Shared     int64 // from its family's
	QoS        int64 // from the line's QoS allowance, at QoS speed
	Blocked    int64 // not served
	Uncounted  int64 // served, and counted nowhere: policy 7
}

// Served returns what allowances and caps count. What is blocked or uncounted they do not.
func (s Split) Served() int64 { return s.Individual + s.Shared + s.QoS }

// Amount returns the sum of the parts, and whether they are those of an amount.
func (s Split) Amount() (int64, bool) {
	sum, ok := int64(0), true
	for _, part := range []int64{s.Individual, s.Shared, s.QoS, s.Blocked, s.Uncounted} {
		if part < 0 || !ok {
			return 0, false
		}
		sum, ok = add(sum, part)
	}
	return sum, ok
}

// Causes say why a split is not all from the line's own or its family's allowance. They are a set.
type Causes uint16

// The causes, in the order in which a text lists them.
const (
	ByLineBlocked Causes = 1 << iota // policy 1: all is blocked
	ByHours                          // policy 2: all is blocked
	ByUncounted                      // policy 7: all is uncounted
	ByLineCap                        // policy 3: the day's cap leaves less than the amount; the rest is blocked
	ByAppCap                         // policy 4: the app's cap leaves less than the amount; the rest is blocked
	ByAppSpeed                       // policy 5: it is taken from the QoS allowance alone
	BySharedCap                      // policy 6: the family has more, and the line may not take it
	ByAllowance                      // the allowances did not cover it: the rest is QoS
	ByQoS                            // the QoS allowance did not cover it: the rest is blocked
)

var causeNames = [...]string{
	"line_blocked", "blocked_hours", "uncounted", "line_cap", "app_cap", "app_speed", "shared_cap", "allowance_used", "qos_used",
}

// Has reports whether all of some causes are in the set.
func (c Causes) Has(causes Causes) bool { return c&causes == causes }

// String lists the causes with commas between; nothing if there are none.
func (c Causes) String() string {
	if c == 0 {
		return ""
	}
	var names []string
	for i, name := range causeNames {
		if c.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// ParseCauses reads what [Causes.String] wrote.
func ParseCauses(text string) (Causes, error) {
	var c Causes
	if text != "" {
		for name := range strings.SplitSeq(text, ",") {
			for i, known := range causeNames {
				if name == known {
					c |= 1 << i
				}
			}
		}
	}
	if c.String() != text {
		return 0, refuse(BadRow, "why", "%s does not list causes in their order", quoted(text))
	}
	return c, nil
}

// used is what the counters say before an event.
type used struct {
	individual, shared, qos int64 // what is left of the allowances
	day, app, taken         int64 // what was used: of the line and of the app in the day, of the family's allowance in the month
}

// divide splits an amount. Every subtraction is of something smaller, so nothing can overflow.
func divide(amount int64, rule Rule, u used) (s Split, why Causes) {
	switch {
	case rule.Blocked:
		return Split{Blocked: amount}, ByLineBlocked
	case rule.Hours:
		return Split{Blocked: amount}, ByHours
	case rule.Uncounted:
		return Split{Uncounted: amount}, ByUncounted
	}
	rest := capped(amount, rule.LineCap, u.day, ByLineCap, &why)
	rest = min(rest, capped(amount, rule.AppCap, u.app, ByAppCap, &why))
	s.Blocked = amount - rest
	if rest == 0 {
		return s, why
	}
	if rule.Slow {
		why |= ByAppSpeed
	} else {
		s.Individual = min(rest, u.individual)
		rest -= s.Individual
		s.Shared = capped(min(rest, u.shared), rule.SharedCap, u.taken, BySharedCap, &why)
		rest -= s.Shared
		if rest > 0 {
			why |= ByAllowance
		}
	}
	s.QoS = min(rest, u.qos)
	if rest -= s.QoS; rest > 0 {
		s.Blocked += rest
		why |= ByQoS
	}
	return s, why
}

// capped returns how much of an amount a cap leaves, some of which is used, and notes if it is not all.
func capped(amount, limit, used int64, cause Causes, why *Causes) int64 {
	if limit < 0 || less(limit, used) >= amount {
		return amount
	}
	*why |= cause
	return less(limit, used)
}
