package meter

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Day is a local date as a number, yyyyMMdd: 20260301 is the 1st of March 2026.
type Day int32

// Month is a billing month as a number, yyyyMM. It is called after the calendar month in which it begins.
type Month int32

// The years that a period can be in. Four digits sort as text, and every zone's rules reach back to 1970.
const (
	minYear = 1970
	maxYear = 9999
)

func dayOf(year int, month time.Month, day int) Day {
	return Day(year*10000 + int(month)*100 + day)
}

// ParseDay reads yyyyMMdd: eight digits that are a date.
func ParseDay(s string) (Day, error) {
	n, ok := parseDecimal(s)
	d := Day(0)
	if ok && len(s) == 8 {
		d = Day(n)
	}
	if !d.Valid() {
		return 0, fmt.Errorf("%s is not a day: write yyyyMMdd, a date from 19700101 to 99991231", quoted(s))
	}
	return d, nil
}

// ParseMonth reads yyyyMM: six digits that are a month.
func ParseMonth(s string) (Month, error) {
	n, ok := parseDecimal(s)
	m := Month(0)
	if ok && len(s) == 6 {
		m = Month(n)
	}
	if !m.Valid() {
		return 0, fmt.Errorf("%s is not a month: write yyyyMM, from 197001 to 999912", quoted(s))
	}
	return m, nil
}

// Valid reports whether the number is a date.
func (d Day) Valid() bool {
	if d.year() < minYear || d.year() > maxYear {
		return false
	}
	year, month, day := d.midnight(0).Date()
	return dayOf(year, month, day) == d
}

// LastMonth is the last there is.
const LastMonth Month = maxYear*100 + 12

// Valid reports whether the number is a month.
func (m Month) Valid() bool {
	return m/100 >= minYear && m/100 <= maxYear && m%100 >= 1 && m%100 <= 12
}

// String returns yyyyMMdd.
func (d Day) String() string { return digits(int64(d), 8) }

// String returns yyyyMM.
func (m Month) String() string { return digits(int64(m), 6) }

// digits writes n with at least so many digits.
func digits(n int64, least int) string {
	text := strconv.FormatInt(n, 10)
	if len(text) >= least || n < 0 {
		return text
	}
	return strings.Repeat("0", least-len(text)) + text
}

// Next returns the day after.
func (d Day) Next() Day { return d.plus(1) }

// Previous returns the day before.
func (d Day) Previous() Day { return d.plus(-1) }

func (d Day) plus(days int) Day { return dayOf(d.midnight(days).Date()) }

func (d Day) year() int { return int(d) / 10000 }

// midnight returns the beginning of the day, or of one some days later, on a clock that shows UTC.
func (d Day) midnight(later int) time.Time {
	return time.Date(d.year(), time.Month(d/100%100), int(d%100)+later, 0, 0, 0, 0, time.UTC)
}

// Next returns the month after.
func (m Month) Next() Month {
	if m%100 == 12 {
		return m + 100 - 11
	}
	return m + 1
}

// Previous returns the month before.
func (m Month) Previous() Month {
	if m%100 == 1 {
		return m - 100 + 11
	}
	return m - 1
}

// length returns how many days the calendar month has.
func (m Month) length() int {
	return time.Date(int(m)/100, time.Month(m%100)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
