package meter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Policies are what decides about the events of a line, beside its allowances.
type Policies struct {
	Calendar Calendar
	// Global are the policies of everybody. All eight have to be there, if only to say nothing.
	Global PolicySet
	// Line are the line's own. What they say takes the place of what the global ones say.
	Line PolicySet
}

// PolicySet is at most one version of each policy. It is a value; [PolicySet.With] returns another.
type PolicySet struct {
	policies [Gate + 1]Policy
}

// With returns the set with a policy in the place of its predecessor.
func (s PolicySet) With(p Policy) PolicySet {
	if p.id.Valid() {
		s.policies[p.id] = p
	}
	return s
}

// Get returns a policy of the set. Its version is 0 if it is not there.
func (s PolicySet) Get(id PolicyID) Policy {
	if !id.Valid() {
		return Policy{}
	}
	return s.policies[id]
}

// Missing returns the policies that are not in the set.
func (s PolicySet) Missing() []PolicyID {
	return slices.DeleteFunc(AllPolicies(), func(id PolicyID) bool { return s.policies[id].version > 0 })
}

// LineFields returns the fields of the hash in which Redis has the policies of a line: those of each policy, with its
// number and a colon before their names.
func (s PolicySet) LineFields() []Field {
	var fields []Field
	for _, p := range s.policies {
		if p.version == 0 {
			continue
		}
		for _, f := range p.Fields() {
			fields = append(fields, Field{p.id.String() + ":" + f.Name, f.Value})
		}
	}
	return fields
}

// ReadLinePolicies reads what [PolicySet.LineFields] wrote. A line has no gate of its own.
func ReadLinePolicies(hash map[string]string) (PolicySet, error) {
	hashes := map[string]map[string]string{}
	for name, text := range hash {
		number, field, _ := strings.Cut(name, ":")
		if hashes[number] == nil {
			hashes[number] = map[string]string{}
		}
		hashes[number][field] = text
	}
	var s PolicySet
	for number, fields := range hashes {
		id, ok := parseDecimal(number)
		if !ok || id < int64(LineBlocked) || id > int64(Gate) {
			return PolicySet{}, fmt.Errorf("%s is not the number of a policy", quoted(number))
		}
		p, err := ReadPolicy(PolicyID(id), fields)
		if err != nil {
			return PolicySet{}, fmt.Errorf("of the line: %w", err)
		}
		s = s.With(p)
	}
	return s, s.checkLine()
}

func (s PolicySet) checkLine() error {
	if s.policies[Gate].version > 0 {
		return errors.New("policy 8, the gate, is the same for everybody: a line has none of its own")
	}
	return nil
}

// Rule is what the policies mean for one app of a line at one moment.
type Rule struct {
	// Blocked: by policy 1. Hours: by policy 2. Uncounted: by policy 7.
	Blocked, Hours, Uncounted bool
	// LineCap, AppCap and SharedCap are those of policies 3, 4 and 6, in bytes; negative if there is none.
	LineCap, AppCap, SharedCap int64
	// Slow: policy 5 slows the app.
	Slow bool
	// Speed is that of what is taken from the QoS allowance, in kbit/s; 0 if no policy says it.
	Speed int64
}

// Rule returns what the policies mean for an app at a moment. The first of these that is set counts: the line's setting
// for the app, the line's for every app, the global one for the app, the global one for every app.
func (p Policies) Rule(app string, at time.Time) Rule {
	r := Rule{LineCap: p.limit(LineCap, ""), AppCap: p.limit(AppCap, app), SharedCap: p.limit(SharedCap, "")}
	r.Blocked = p.setting(LineBlocked, "blocked", "").flag
	minute := p.Calendar.minuteOf(at)
	r.Hours = slices.ContainsFunc(p.setting(BlockedHours, "hours", "").hours, func(w window) bool { return w.contains(minute) })
	r.Uncounted = p.setting(Uncounted, "app:", app).flag
	r.Speed = p.setting(AppSpeed, "speed:", app).amount
	if r.Slow = r.Speed > 0; !r.Slow {
		r.Speed = p.setting(AppSpeed, "qos", "").amount
	}
	return r
}

// limit returns a cap, of an app where that is not empty.
func (p *Policies) limit(id PolicyID, app string) int64 {
	base := "cap"
	if app != "" {
		base = "cap:"
	}
	if v, ok := p.lookUp(id, base, app); ok {
		return v.amount
	}
	return unlimited
}

func (p *Policies) setting(id PolicyID, base, app string) value {
	v, _ := p.lookUp(id, base, app)
	return v
}

// lookUp returns the first setting that is there: for the app before that for every app, the line's before the global ones.
func (p *Policies) lookUp(id PolicyID, base, app string) (value, bool) {
	apps := []string{app, everyApp}
	if app == "" {
		apps = apps[:1]
	}
	for _, set := range [...]*PolicySet{&p.Line, &p.Global} {
		for _, app := range apps {
			if v, ok := set.policies[id].get(base, app); ok {
				return v, true
			}
		}
	}
	return value{}, false
}

// open reports whether policy 8 lets anything be deducted. A gate that is not there is closed.
func (p Policies) open() bool {
	v, _ := p.Global.policies[Gate].get("open", "")
	return v.flag
}
