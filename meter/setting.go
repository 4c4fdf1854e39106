package meter

import (
	"fmt"
	"strings"
)

// value is the meaning of a setting's text. What it means depends on the setting.
type value struct {
	flag   bool     // yes
	amount int64    // bytes, or kbit/s; unlimited where there is no limit
	hours  []window // in the order of their beginnings
}

// unlimited is the amount of a cap that is none.
const unlimited = -1

// maxSpeed is the largest speed, in kbit/s: a terabit a second.
const maxSpeed = 1_000_000_000

// The values of settings that are words.
const (
	yes  = "yes"
	no   = "no"
	none = "none" // no cap, no hours
	full = "full" // not slowed
)

// settingForm is a setting that a policy may have.
type settingForm struct {
	name   string
	perApp bool // the name is followed by a colon and an app or *
	parse  func(text string) (value, bool)
	means  string
}

func formsOf(id PolicyID) []settingForm {
	const bytes = "a number of bytes in digits alone, or none"
	switch id {
	case LineBlocked:
		return []settingForm{{"blocked", false, parseFlag, "yes or no"}}
	case BlockedHours:
		return []settingForm{{"hours", false, parseHours, "none, or hours such as 22:00-06:00, in order, apart, with commas between"}}
	case LineCap, SharedCap:
		return []settingForm{{"cap", false, parseCap, bytes}}
	case AppCap:
		return []settingForm{{"cap", true, parseCap, bytes}}
	case AppSpeed:
		return []settingForm{
			{"speed", true, parseSpeedOrFull, fmt.Sprintf("a number of kbit/s from 1 to %d, or full", maxSpeed)},
			{"qos", false, parseSpeed, fmt.Sprintf("a number of kbit/s from 1 to %d", maxSpeed)},
		}
	case Uncounted:
		return []settingForm{{"app", true, parseFlag, "yes or no"}}
	case Gate:
		return []settingForm{{"open", false, parseFlag, "yes or no"}}
	}
	return nil
}

func parseSetting(id PolicyID, name, text string) (value, error) {
	base, app, perApp := strings.Cut(name, ":")
	var known []string
	for _, form := range formsOf(id) {
		known = append(known, form.spelling())
		if form.name != base || form.perApp != perApp {
			continue
		}
		if perApp && app != everyApp && !ValidID(app) {
			return value{}, fmt.Errorf("%s names no app: write %s", quoted(name), form.spelling())
		}
		v, ok := form.parse(text)
		if !ok {
			return value{}, fmt.Errorf("%s is %s: write %s", name, quoted(text), form.means)
		}
		return v, nil
	}
	return value{}, fmt.Errorf("%s is not a setting of it: it has %s", quoted(name), strings.Join(known, " and "))
}

func (f settingForm) spelling() string {
	if f.perApp {
		return f.name + ":APP or " + f.name + ":*"
	}
	return f.name
}

func parseFlag(text string) (value, bool) {
	return value{flag: text == yes}, text == yes || text == no
}

func parseCap(text string) (value, bool) {
	if text == none {
		return value{amount: unlimited}, true
	}
	n, ok := parseDecimal(text)
	return value{amount: n}, ok
}

func parseSpeed(text string) (value, bool) {
	n, ok := parseDecimal(text)
	return value{amount: n}, ok && n >= 1 && n <= maxSpeed
}

func parseSpeedOrFull(text string) (value, bool) {
	if text == full {
		return value{}, true
	}
	return parseSpeed(text)
}

// window is a part of the local day, in minutes since its clock showed 00:00: from, and up to, not at, to. It goes over
// midnight if to is not after from.
type window struct{ from, to int }

const dayMinutes = 24 * 60

func (w window) contains(minute int) bool {
	if w.from < w.to {
		return w.from <= minute && minute < w.to
	}
	return w.from <= minute || minute < w.to
}

// parseHours reads windows in the order of their beginnings that do not touch; only the last may go over
// midnight. So there is one way to write what they mean, apart from a window that is split at midnight.
func parseHours(text string) (value, bool) {
	if text == none {
		return value{}, true
	}
	var hours []window
	for part := range strings.SplitSeq(text, ",") {
		w, ok := parseWindow(part)
		if !ok || len(hours) > 0 && w.from <= hours[len(hours)-1].to {
			return value{}, false
		}
		if hours = append(hours, w); w.to <= w.from {
			break
		}
	}
	last := hours[len(hours)-1]
	wraps := last.to <= last.from
	if wraps && len(hours) > 1 && last.to >= hours[0].from || len(hours) != strings.Count(text, ",")+1 {
		return value{}, false
	}
	return value{hours: hours}, true
}

func parseWindow(text string) (window, bool) {
	from, to, ok := strings.Cut(text, "-")
	a, okA := parseClock(from)
	b, okB := parseClock(to)
	return window{a, b}, ok && okA && okB && a < dayMinutes && b > 0 && a != b
}

func parseClock(text string) (int, bool) {
	if len(text) != 5 || text[2] != ':' {
		return 0, false
	}
	digits := [4]byte{text[0], text[1], text[3], text[4]}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	hour, minute := int(digits[0]-'0')*10+int(digits[1]-'0'), int(digits[2]-'0')*10+int(digits[3]-'0')
	return hour*60 + minute, minute < 60 && hour*60+minute <= dayMinutes
}
