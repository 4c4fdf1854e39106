package config

import (
	"cmp"
	"fmt"
	"strings"
)

// PrintDefault returns a configuration file that says what holds without one. Keys without a default
// are commented out.
func PrintDefault() string {
	var b strings.Builder
	b.WriteString("# Configuration of `reprise proxy`. Every value here is the default; what you do not change can go.\n")
	b.WriteString("# A flag or a REPRISE_* variable takes the place of a value in this file.\n")
	above := ""
	for _, e := range globalKeys() {
		name, indent := e.Name, ""
		if group, below, nested := strings.Cut(e.Name, "."); nested {
			if group != above {
				fmt.Fprintf(&b, "\n%s:\n", group)
			}
			above, name, indent = group, below, "  "
		}
		printKey(&b, indent, name, e.Key)
	}
	fmt.Fprintf(&b, "\n# What routes have that do not say otherwise, and paths of no route.\n%s:\n", defaultsKey)
	for _, e := range routeKeys() {
		if !e.alone() {
			printKey(&b, "  ", e.Name, e.Key)
		}
	}
	fmt.Fprintf(&b, "\n# Routes, the most specific first in effect. Each can have every key of `%s`, and:\n%s: []\n", defaultsKey, routesKey)
	for _, e := range routeKeys() {
		if e.alone() {
			printKey(&b, "#    ", e.Name, e.Key)
		}
	}
	return b.String()
}

func printKey(b *strings.Builder, indent, name string, k Key) {
	fmt.Fprintf(b, "\n%s", wrap(k.Doc+" ("+k.Type+")", indent+"# ", 100))
	switch {
	case strings.HasPrefix(indent, "#"):
		fmt.Fprintf(b, "%s%s:\n", indent, name)
	case k.Default == "":
		fmt.Fprintf(b, "%s# %s:\n", indent, name)
	default:
		fmt.Fprintf(b, "%s%s: %s\n", indent, name, k.Default)
	}
}

// wrap breaks a text into lines of at most width bytes, each after a prefix, where it can.
func wrap(s, prefix string, width int) string {
	var b strings.Builder
	line := prefix
	for word := range strings.FieldsSeq(s) {
		if len(line)+len(word) > width && line != prefix {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = prefix
		}
		line += word + " "
	}
	return b.String() + strings.TrimRight(line, " ") + "\n"
}

// Explain returns what there is to say about a key, and whether there is such a key. Without a name it
// lists all.
func Explain(name string) (string, error) {
	if name == "" {
		var b strings.Builder
		for _, k := range Keys() {
			fmt.Fprintf(&b, "%-45s %s\n", k.Name, orNone(k.Default))
		}
		return b.String(), nil
	}
	var all []string
	for _, k := range Keys() {
		if all = append(all, k.Name); k.Name == name {
			return explain(k), nil
		}
	}
	for _, k := range MeterKeys() {
		if k.Name == name {
			return "", fmt.Errorf("%q is a key of the meter, not of the proxy: docs/meter.md lists those", name)
		}
	}
	return "", fmt.Errorf("there is no key %q%s", name, cmp.Or(meant(name, all), "; `reprise config explain` lists all"))
}

func explain(k Key) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", k.Name, wrap(k.Doc, "  ", 80))
	fmt.Fprintf(&b, "  type:     %s\n  default:  %s\n  where:    %s\n", k.Type, orNone(k.Default), where(k))
	if k.Flag {
		fmt.Fprintf(&b, "  flag:     --%s\n", k.FlagName())
	}
	if !k.alone() {
		fmt.Fprintf(&b, "  variable: %s\n", k.Variable())
	}
	return b.String()
}

func where(k Key) string {
	switch {
	case k.alone():
		return "a route"
	case k.Route:
		return "`" + defaultsKey + "` or a route"
	}
	return "top of the file"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Markdown returns the tables of docs/configuration.md.
func Markdown() string {
	var b strings.Builder
	table := func(title, intro string, keys []Key) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n%s\n", title, intro, rows(keys))
	}
	global, route := []Key{}, []Key{}
	for _, k := range Keys() {
		if k.Route {
			route = append(route, k)
		} else {
			global = append(global, k)
		}
	}
	table("The program", "At the top of the file. A dot goes one level down.", global)
	table("Routes", "Below `defaults`, for every route that does not say otherwise, or in an item of `routes`; `path` and `operation` only there.", route)
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// rows returns a table of keys.
func rows(keys []Key) string {
	var b strings.Builder
	b.WriteString("| Key | Type | Default | Meaning |\n|---|---|---|---|\n")
	for _, k := range keys {
		value := "none"
		if k.Default != "" {
			value = "`" + k.Default + "`"
		}
		if k.Needed {
			value = "must be given"
		}
		doc := k.Doc
		if k.Flag {
			doc += " Flag `--" + k.FlagName() + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, k.Type, value, doc)
	}
	return b.String()
}
