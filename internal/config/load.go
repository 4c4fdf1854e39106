package config

import (
	"fmt"
	"slices"
	"strings"
)

// Sources are where values come from.
type Sources struct {
	// File is the name under which YAML is spoken of. Empty: there is no file.
	File string
	YAML []byte
	// Environ are environment variables, "NAME=value". Those of no key, and empty ones, are left alone.
	Environ []string
	// Flags are the values of flags that were given, by the name of their key.
	Flags map[string]string
	// Beside: this is not the proxy, but a command beside it that reads the same file. What the proxy may have on its own command
	// line, upstream and principal, may be missing.
	Beside bool
}

// Load reads a configuration. Its error is of type [Mistakes].
func Load(from Sources) (*Config, error) {
	l := &loader{keys: Keys(), beside: from.Beside}
	l.readFile(from)
	l.readAbove(from)
	config := &Config{}
	places := assign(l, config, globalKeys(), l.values, nil)
	routes := l.routes()
	if !l.unread {
		checkConfig(l, config, places)
		checkRoutes(l, config, routes)
	}
	for _, r := range routes {
		config.Routes = append(config.Routes, r.Route)
	}
	if err := l.found(); err != nil {
		return nil, err
	}
	return config, nil
}

// readAbove reads what goes before the file: variables, and above them flags.
func (l *loader) readAbove(from Sources) {
	l.readEnvironment(from.Environ)
	for name, s := range from.Flags {
		k := Key{Name: name}
		l.put(name, text(Place{Source: "--" + k.FlagName()}, s))
	}
}

// found returns the mistakes as an error, in the order of their places. That a file cannot be read comes first.
func (l *loader) found() error {
	if len(l.mistakes) == 0 {
		return nil
	}
	slices.SortStableFunc(l.mistakes, func(a, b Mistake) int {
		if l.unread && a.At.Source != b.At.Source {
			if a.At.Source == l.file {
				return -1
			}
			if b.At.Source == l.file {
				return 1
			}
		}
		if c := strings.Compare(a.At.Source, b.At.Source); c != 0 {
			return c
		}
		return a.At.Line - b.At.Line
	})
	return slices.Compact(l.mistakes)
}

// loader gathers values, and mistakes.
type loader struct {
	keys     []Key
	file     string
	values   map[string]value // of all keys, by name
	inRoutes []value
	mistakes Mistakes
	beside   bool
	unread   bool // the file is not YAML, so that nobody knows which keys it has: what there is between keys is not looked at
}

func (l *loader) refuse(at Place, key, format string, args ...any) {
	l.mistakes = append(l.mistakes, Mistake{At: at, Key: key, Text: fmt.Sprintf(format, args...)})
}

// put sets a value over what an earlier source said.
func (l *loader) put(name string, v value) {
	if l.values == nil {
		l.values = map[string]value{}
	}
	l.values[name] = v
}

// routesKey is the key of the list of routes, and defaultsKey that of what they inherit.
const routesKey, defaultsKey = "routes", "defaults"

func (l *loader) readFile(from Sources) {
	l.file = from.File
	if from.File == "" {
		return
	}
	for _, p := range l.parse(from) {
		switch p.name {
		case routesKey:
			if p.value.form != formList && p.value.form != formNothing {
				l.refuse(p.at, routesKey, "is not a list; write `- path: /orders` below it")
			}
			l.inRoutes = p.value.items
		case defaultsKey:
			if p.value.form != formPairs && p.value.form != formNothing {
				l.refuse(p.at, defaultsKey, "has no keys below it; write them indented, or leave it out")
			}
			for _, d := range p.value.pairs {
				l.take(d, "", func(k Key) bool { return k.Route && !k.alone() }, defaultsKey)
			}
		default:
			l.take(p, "", func(k Key) bool { return !k.Route }, "")
		}
	}
}

// parse returns what is at the top of the file.
func (l *loader) parse(from Sources) []pair {
	top, mistakes := parseYAML(from.File, from.YAML)
	l.mistakes = append(l.mistakes, mistakes...)
	l.unread = top.form != formPairs
	return top.pairs
}

// take puts the value of a key, or of the keys below it.
func (l *loader) take(p pair, above string, fits func(Key) bool, where string) {
	name := above + p.name
	for _, k := range l.keys {
		switch {
		case k.Name == name && fits(k):
			v := p.value
			v.at = p.at
			l.put(name, v)
			return
		case strings.HasPrefix(k.Name, name+".") && above == "" && fits(k):
			if p.value.form != formPairs && p.value.form != formNothing {
				l.refuse(p.at, name, "has no keys below it, such as %s", strings.TrimPrefix(k.Name, name+"."))
				return
			}
			for _, below := range p.value.pairs {
				l.take(below, name+".", fits, where)
			}
			return
		}
	}
	l.refuse(p.at, name, "%s", l.unknownKey(name, fits, where))
}

// unknownKey says what is wrong with a key that does not belong where it is.
func (l *loader) unknownKey(name string, fits func(Key) bool, where string) string {
	var here []string
	for _, k := range l.keys {
		if fits(k) {
			here = append(here, k.Name)
		}
		if k.Name == name {
			switch {
			case k.alone():
				return "belongs to one route; write it in an item of `routes`"
			case k.Route:
				return "belongs to routes; write it below `defaults`, for all of them, or in an item of `routes`"
			default:
				return "belongs to the whole program; write it at the top"
			}
		}
	}
	if where == "" {
		here = append(here, routesKey, defaultsKey)
	}
	return "is not known" + meant(name, here)
}

func (l *loader) readEnvironment(environ []string) {
	for _, entry := range environ {
		variable, s, _ := strings.Cut(entry, "=")
		for _, k := range l.keys {
			if k.Variable() == variable && !k.alone() && s != "" {
				l.put(k.Name, text(Place{Source: variable}, s))
			}
		}
	}
}

// Misspelt returns the variables that are nearly those of a key, with what was probably meant. They are
// no mistakes: the environment is not ours alone.
func Misspelt(environ []string) map[string]string {
	known := []string{"REPRISE_SECRET"}
	for _, k := range Keys() {
		known = append(known, k.Variable())
	}
	found := map[string]string{}
	for _, entry := range environ {
		variable, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(variable, "REPRISE_") || slices.Contains(known, variable) {
			continue
		}
		for _, k := range known {
			if distance(variable, k) <= 2 {
				found[variable] = k
			}
		}
	}
	return found
}

// assign sets each key of a table to what was given, else to what otherwise has, else to its default. It
// returns where the values are from; what was not given has no place.
func assign[T any](l *loader, t *T, table []entry[T], given map[string]value, inherited map[string]Place) map[string]Place {
	places := map[string]Place{}
	for _, e := range table {
		v, ok := given[e.Name]
		if !ok && inherited != nil {
			places[e.Name] = inherited[e.Name]
			continue // t is a copy that has the value
		}
		if !ok && e.Default == "" {
			continue
		}
		if !ok {
			v = defaultOf(e.Key)
		} else {
			places[e.Name] = v.at
		}
		if err := e.set(t, v); err != nil {
			l.refuse(v.at, e.Name, "%v", err)
		}
	}
	return places
}

// defaultOf reads a default, which is a text, a list of texts or an empty mapping.
func defaultOf(k Key) value {
	inner, ok := strings.CutPrefix(k.Default, "[")
	switch {
	case k.Default == "{}":
		return value{form: formPairs}
	case !ok:
		return text(Place{}, k.Default)
	}
	list := value{form: formList}
	for _, item := range splitList(strings.TrimSuffix(inner, "]")) {
		list.items = append(list.items, text(Place{}, item))
	}
	return list
}
