package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Key describes a configuration key.
type Key struct {
	Name    string // as in the file; a dot goes one level down
	Type    string // in words
	Default string // as it is written in the file; "" for none
	Doc     string // sentences
	Flag    bool   // whether `reprise proxy` has a flag of that name
	Route   bool   // whether routes can have a value of their own
	Needed  bool   // whether there must be a value
	Of      string // "meter" for a key of `reprise meter`, empty for one of the proxy
}

// Variable returns the name of the environment variable that sets the key.
func (k Key) Variable() string {
	name := k.Name
	if k.Of != "" {
		name = k.Of + "_" + name
	}
	return "REPRISE_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

// FlagName returns the name of the key's flag.
func (k Key) FlagName() string { return strings.ReplaceAll(k.Name, ".", "-") }

// Keys returns every key: those of the whole program first, then those of routes.
func Keys() []Key {
	var keys []Key
	for _, e := range globalKeys() {
		keys = append(keys, e.Key)
	}
	for _, e := range routeKeys() {
		keys = append(keys, e.Key)
	}
	return keys
}

// entry is a key and how a value gets into a T.
type entry[T any] struct {
	Key
	set func(*T, value) error
}

// The setters that most keys need.

func setText[T any](field func(*T) *string) func(*T, value) error {
	return func(t *T, v value) (err error) {
		*field(t), err = v.single()
		return err
	}
}

func setBool[T any](field func(*T) *bool) func(*T, value) error {
	return setChoice(field, map[string]bool{"true": true, "false": false})
}

func setDuration[T any](field func(*T) *time.Duration, least time.Duration) func(*T, value) error {
	return func(t *T, v value) error {
		s, err := v.single()
		if err != nil {
			return err
		}
		d, err := ParseDuration(s)
		if err == nil && d < least {
			err = fmt.Errorf("%s is below the least, %v", s, least)
		}
		*field(t) = d
		return err
	}
}

// setDurationOrNone also takes 0. One that is nearly 0 has the wrong unit.
func setDurationOrNone[T any](field func(*T) *time.Duration, least time.Duration) func(*T, value) error {
	set := setDuration(field, 0)
	return func(t *T, v value) error {
		err := set(t, v)
		if d := *field(t); err == nil && d > 0 && d < least {
			err = fmt.Errorf("%s is below the least, %v, and is not 0", v.text, least)
		}
		return err
	}
}

func setSize[T any](field func(*T) *int64) func(*T, value) error {
	return func(t *T, v value) error {
		s, err := v.single()
		if err == nil {
			*field(t), err = parseSize(s)
		}
		if err == nil && *field(t) == 0 {
			err = errors.New("must be at least one byte")
		}
		return err
	}
}

func setStatuses[T any](field func(*T) *[]int) func(*T, value) error {
	return func(t *T, v value) (err error) {
		*field(t), err = v.numbers(200, 599)
		return err
	}
}

// setChoice takes one of a few words.
func setChoice[T any, V any](field func(*T) *V, choices map[string]V) func(*T, value) error {
	return func(t *T, v value) error {
		s, err := v.single()
		if err != nil {
			return err
		}
		choice, ok := choices[s]
		if !ok {
			return fmt.Errorf("%q is not known%s", s, meant(s, names(choices)))
		}
		*field(t) = choice
		return nil
	}
}

// setWord takes one of a few words as it is.
func setWord[T any](field func(*T) *string, words ...string) func(*T, value) error {
	choices := map[string]string{}
	for _, w := range words {
		choices[w] = w
	}
	return setChoice(field, choices)
}

func names[V any](m map[string]V) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}
