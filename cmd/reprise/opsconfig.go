package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/reprise-dev/reprise/admin"
	"github.com/reprise-dev/reprise/internal/config"
	"github.com/reprise-dev/reprise/proxy"
)

// configuration is that of the proxy beside which the operator works: its file, and the variables above it.
func (o *operator) configuration() (*config.Config, error) {
	from := config.Sources{File: o.file, Environ: o.environ, Beside: true}
	if o.file != "" {
		var err error
		if from.YAML, err = readConfig(o.file); err != nil {
			return nil, err
		}
	}
	c, err := config.Load(from)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// storeOf returns the DSN to work on: the one that was named, or else that of the proxy's file.
func (o *operator) storeOf(cmd *cobra.Command) (string, error) {
	if o.file == "" || cmd.Flags().Changed("store") {
		return o.dsn, nil
	}
	c, err := o.configuration()
	if err != nil {
		return "", err
	}
	if c.Store.Previous != "" {
		return "", usageError{fmt.Errorf("%s names two stores, because records move from one to the other: say with --store which of them is meant", o.file)}
	}
	return c.Store.Primary, nil
}

// kept is how long what is settled is kept, and who says so.
type kept struct {
	window, remember         time.Duration
	windowFrom, rememberFrom string
	byDefault                bool // in some part, because nobody said where the proxy's configuration is
}

// keep finds out how long a settled record is kept: as it was said on the command line, or else as the proxy does with what it has
// completed itself, by the route that makes such records.
func (o *operator) keep(f *settleFlags, record admin.Record) (kept, error) {
	k := kept{f.window, f.remember, "--replay-window", "--remember", false}
	askWindow, askRemember := k.window == 0 && f.completed, k.remember == 0
	if !askWindow && !askRemember {
		return k, nil
	}
	c, err := o.configuration()
	if err != nil {
		return kept{}, err
	}
	routes, from, err := o.routesOf(c, record.Operation)
	if err != nil {
		return kept{}, err
	}
	var window, remember time.Duration
	for _, r := range routes { // the longest of several, so that no key is new again while one of them remembers it
		window = max(window, r.ReplayWindow)
		if f.completed {
			remember = max(remember, r.Remember)
		} else {
			remember = max(remember, r.RetryableFor)
		}
	}
	if askWindow {
		k.window, k.windowFrom = window, cmp.Or(from, o.above("replay-window"))
	}
	if askRemember {
		key := "retryable-for"
		if f.completed {
			key = "remember-until"
		}
		k.remember, k.rememberFrom = remember, cmp.Or(from, o.above(key))
	}
	if f.completed && k.remember < k.window && askRemember {
		k.remember, k.rememberFrom = k.window, k.windowFrom
	}
	k.byDefault = o.file == ""
	return k, nil
}

// above says where the value of a key is from when there is no file.
func (o *operator) above(key string) string {
	if name := (config.Key{Name: key}).Variable(); variable(o.environ, name) != "" {
		return name
	}
	return "the default"
}

// routesOf returns the routes that make records of an operation, and their names for people. Without a file nobody knows the routes:
// there is one, without a name, for everything.
func (o *operator) routesOf(c *config.Config, operation string) (routes []config.Route, from string, err error) {
	if o.file == "" {
		return c.Routes, "", nil
	}
	table := make([]proxy.Route, len(c.Routes))
	for i, r := range c.Routes {
		table[i] = proxy.Route{Path: r.Path, Operation: r.Operation, Unguarded: r.Key == config.Ignored}
		table[i].Options.Methods = r.Methods
	}
	found, err := proxy.RoutesOf(table, operation)
	if err != nil {
		return nil, "", usageError{err}
	}
	if len(found) == 0 {
		return nil, "", usageError{fmt.Errorf("no route of %s has the operation %q: say with --replay-window and --remember how long it is kept", o.file, operation)}
	}
	var names []string
	for _, i := range found {
		routes, names = append(routes, c.Routes[i]), append(names, c.Routes[i].Path)
	}
	return routes, "route " + strings.Join(names, ", "), nil
}

// length is the value of a flag for a length of time, which is written as in the configuration: 90m, 24h, 7d.
type length time.Duration

func (l *length) Set(s string) error {
	d, err := config.ParseDuration(s)
	*l = length(d)
	return err
}

func (l *length) String() string {
	if *l == 0 {
		return ""
	}
	return config.Spell(time.Duration(*l))
}

func (l *length) Type() string { return "duration" }
