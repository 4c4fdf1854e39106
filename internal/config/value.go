package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// value is what was written for a key, before it is understood: a text, a list or named values.
type value struct {
	at    Place
	form  form
	text  string
	items []value
	pairs []pair
}

type pair struct {
	name  string
	at    Place
	value value
}

type form int

const (
	formText form = iota
	formList
	formPairs
	formNothing
)

func text(at Place, s string) value { return value{at: at, text: s} }

// single returns the text of a value that must be one.
func (v value) single() (string, error) {
	switch v.form {
	case formText:
		return v.text, nil
	case formNothing:
		return "", errors.New(`has no value; leave the line out for the default, or write "" for none`)
	}
	return "", errors.New("is a list or has keys of its own, and one value is expected")
}

// list returns the texts of a list. One text is a list with commas.
func (v value) list() ([]string, error) {
	switch v.form {
	case formList:
		var list []string
		for _, item := range v.items {
			s, err := item.single()
			if err != nil {
				return nil, fmt.Errorf("item %w", err)
			}
			list = append(list, s)
		}
		return list, nil
	case formText:
		return splitList(v.text), nil
	}
	return nil, errors.New("is not a list; write [a, b], or [] for none")
}

func splitList(s string) []string {
	var list []string
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// numbers returns a list of numbers within bounds, each once.
func (v value) numbers(least, most int) ([]int, error) {
	list, err := v.list()
	if err != nil {
		return nil, err
	}
	var numbers []int
	seen := map[int]bool{}
	for _, s := range list {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return nil, fmt.Errorf("%q is not a number between %d and %d", s, least, most)
		}
		if seen[n] {
			return nil, fmt.Errorf("%d is there twice", n)
		}
		seen[n] = true
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// named returns named numbers: a mapping, or a text such as "a=1, b=2".
func (v value) named() (map[string]int, error) {
	named := map[string]int{}
	add := func(name, number string) error {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil {
			return fmt.Errorf("%s: %q is not a number", name, number)
		}
		named[strings.TrimSpace(name)] = n
		return nil
	}
	switch v.form {
	case formPairs:
		for _, p := range v.pairs {
			s, err := p.value.single()
			if err == nil {
				err = add(p.name, s)
			}
			if err != nil {
				return nil, err
			}
		}
		return named, nil
	case formText:
		for _, part := range splitList(v.text) {
			name, number, ok := strings.Cut(part, "=")
			if !ok {
				return nil, fmt.Errorf("%q is not NAME=NUMBER", part)
			}
			if err := add(name, number); err != nil {
				return nil, err
			}
		}
		return named, nil
	}
	return nil, errors.New("is not a mapping; write {name: number}, or {} for none")
}

const day = 24 * time.Hour

// ParseDuration reads 500ms, 30s, 5m, 24h, 7d, 1d12h. Negative ones are refused.
func ParseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	days, rest := 0.0, s
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration; write 30s, 5m, 24h or 7d", s)
		}
		days, rest = float64(n), tail
	}
	var d time.Duration
	if rest != "" || days == 0 {
		var err error
		if d, err = time.ParseDuration(rest); err != nil {
			if _, number := strconv.ParseFloat(s, 64); number == nil {
				return 0, fmt.Errorf("%q has no unit; write %ss for seconds, or another of ms, s, m, h, d", s, s)
			}
			return 0, fmt.Errorf("%q is not a duration; write 30s, 5m, 24h or 7d", s)
		}
	}
	if days*float64(day)+float64(d) > math.MaxInt64 {
		return 0, fmt.Errorf("%q is longer than 292 years", s)
	}
	if d += time.Duration(days) * day; d < 0 {
		return 0, fmt.Errorf("%q is negative", s)
	}
	return d, nil
}

// Spell writes a duration as the file does.
func Spell(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// parseSize reads a number of bytes: 512, 64KiB, 10MiB, 1GiB, and kB, MB, GB.
func parseSize(s string) (int64, error) {
	units := []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}
	for _, u := range units {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%q is not a size; write 512KiB, 10MiB, or a number of bytes", s)
}
