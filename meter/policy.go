package meter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// PolicyID is the number of a policy.
type PolicyID uint8

// The policies.
const (
	LineBlocked  PolicyID = 1 + iota // 1: the line gets nothing
	BlockedHours                     // 2: nothing at some hours of the local day
	LineCap                          // 3: what a line is served in a day
	AppCap                           // 4: what a line is served of an app in a day
	AppSpeed                         // 5: apps that run at QoS speed
	SharedCap                        // 6: what a line takes of its family's allowance in a month
	Uncounted                        // 7: apps that cost nothing
	Gate                             // 8: whether anything is deducted at all
)

// String returns the number.
func (id PolicyID) String() string { return fmt.Sprint(uint8(id)) }

// Valid reports whether there is such a policy.
func (id PolicyID) Valid() bool { return id >= LineBlocked && id <= Gate }

// AllPolicies returns the numbers of all policies, the gate's included.
func AllPolicies() []PolicyID {
	return []PolicyID{LineBlocked, BlockedHours, LineCap, AppCap, AppSpeed, SharedCap, Uncounted, Gate}
}

// everyApp stands in the name of a setting for all apps that have none of their own.
const everyApp = "*"

// versionField is the field of a policy's hash that is not a setting.
const versionField = "version"

// maxSettings is how many settings a policy may have.
const maxSettings = 1000

// Field is a field of a hash.
type Field struct{ Name, Value string }

// Policy is a version of one policy: settings that were checked. It is a value; nothing changes it.
type Policy struct {
	id       PolicyID
	version  int64
	settings []setting // sorted by name
}

type setting struct {
	name  string // "cap", or "cap:video", or "cap:*"
	app   string // what is behind the colon
	text  string
	value value
}

// NewPolicy returns a policy with the settings that fields name. Versions count from 1. What the settings of each
// policy are, docs/meter.md says; an error does too.
func NewPolicy(id PolicyID, version int64, fields ...Field) (Policy, error) {
	p := Policy{id: id, version: version}
	switch {
	case !id.Valid():
		return Policy{}, fmt.Errorf("there is no policy %d: they are 1 to 8", uint8(id))
	case version < 1:
		return Policy{}, fmt.Errorf("policy %v: version %d: versions count from 1", id, version)
	case len(fields) > maxSettings:
		return Policy{}, fmt.Errorf("policy %v has %d settings: at most %d are allowed", id, len(fields), maxSettings)
	}
	for _, f := range fields {
		v, err := parseSetting(id, f.Name, f.Value)
		if err != nil {
			return Policy{}, fmt.Errorf("policy %v: %w", id, err)
		}
		_, app, _ := strings.Cut(f.Name, ":")
		p.settings = append(p.settings, setting{f.Name, app, f.Value, v})
	}
	slices.SortFunc(p.settings, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	for i := range p.settings[:max(0, len(p.settings)-1)] {
		if p.settings[i].name == p.settings[i+1].name {
			return Policy{}, fmt.Errorf("policy %v: %s is set twice: set it once", id, p.settings[i].name)
		}
	}
	if id == Gate && len(p.settings) == 0 {
		return Policy{}, fmt.Errorf("policy %v says neither open=yes nor open=no", id)
	}
	return p, nil
}

// ParsePolicy reads the canonical text of a policy, as SQL has it beside its version: settings by name, each
// name=value, with semicolons between.
func ParsePolicy(id PolicyID, version int64, text string) (Policy, error) {
	var fields []Field
	if text != "" {
		for part := range strings.SplitSeq(text, ";") {
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				return Policy{}, fmt.Errorf("policy %v: %s is no setting: write name=value, with semicolons between", id, quoted(part))
			}
			if fields = append(fields, Field{name, value}); len(fields) > maxSettings {
				break // refused below
			}
		}
	}
	p, err := NewPolicy(id, version, fields...)
	if err == nil && p.Text() != text {
		return Policy{}, fmt.Errorf("policy %v: settings are to be in the order of their names: %s", id, quoted(p.Text()))
	}
	return p, err
}

// ReadPolicy reads the hash of a policy, as Redis has it.
func ReadPolicy(id PolicyID, hash map[string]string) (Policy, error) {
	version, ok := parseDecimal(hash[versionField])
	if !ok {
		return Policy{}, fmt.Errorf("policy %v has no version: write it again from SQL", id)
	}
	var fields []Field
	for name, value := range hash {
		if name != versionField {
			fields = append(fields, Field{name, value})
		}
	}
	return NewPolicy(id, version, fields...)
}

// ID returns the number of the policy.
func (p Policy) ID() PolicyID { return p.id }

// Version returns the version, which is 0 if there is no such policy.
func (p Policy) Version() int64 { return p.version }

// Text returns the canonical text, without the version.
func (p Policy) Text() string {
	var b strings.Builder
	for i, s := range p.settings {
		if i > 0 {
			b.WriteByte(';')
		}
		b.WriteString(s.name + "=" + s.text)
	}
	return b.String()
}

// Fields returns the fields of the policy's hash: its settings by name, and last its version.
func (p Policy) Fields() []Field {
	fields := make([]Field, 0, len(p.settings)+1)
	for _, s := range p.settings {
		fields = append(fields, Field{s.name, s.text})
	}
	return append(fields, Field{versionField, fmt.Sprint(p.version)})
}

// get returns the value of a setting, by the beginning of its name, which all settings share that are by app, and its app.
// It is asked for every event, so it makes no text of the two.
func (p Policy) get(base, app string) (value, bool) {
	i, found := slices.BinarySearchFunc(p.settings, app, func(s setting, app string) int {
		return cmp.Or(strings.Compare(s.name[:len(s.name)-len(s.app)], base), strings.Compare(s.app, app))
	})
	if !found {
		return value{}, false
	}
	return p.settings[i].value, true
}
