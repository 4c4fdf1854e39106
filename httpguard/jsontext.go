package httpguard

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// text copies a string with the escapes that the canonical form has.
func (c *canonicalizer) text() bool {
	c.take('"')
	for c.pos < len(c.in) {
		from := c.pos
		for c.pos < len(c.in) && plain(c.in[c.pos]) {
			c.pos++
		}
		c.out = append(c.out, c.in[from:c.pos]...)
		switch b := c.peek(); {
		case b == '"':
			return c.take('"')
		case b == '\\':
			r, ok := c.escape()
			if !ok {
				return false
			}
			c.out = appendEscaped(c.out, r)
		case b < utf8.RuneSelf: // a control character, or the end
			return false
		default:
			r, size := utf8.DecodeRune(c.in[c.pos:])
			if r == utf8.RuneError && size == 1 {
				return false
			}
			c.out = append(c.out, c.in[c.pos:c.pos+size]...)
			c.pos += size
		}
	}
	return false
}

func plain(b byte) bool { return b >= ' ' && b < utf8.RuneSelf && b != '"' && b != '\\' }

// escape reads an escape sequence. Half a surrogate pair is no character.
func (c *canonicalizer) escape() (rune, bool) {
	if c.pos+1 >= len(c.in) {
		return 0, false
	}
	b := c.in[c.pos+1]
	if b != 'u' {
		c.pos += 2
		return simpleEscape(b)
	}
	r, ok := c.unit()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	low, ok := c.unit()
	r = utf16.DecodeRune(r, low)
	return r, ok && r != utf8.RuneError
}

// unit reads \uXXXX.
func (c *canonicalizer) unit() (rune, bool) {
	if c.pos+6 > len(c.in) || c.in[c.pos] != '\\' || c.in[c.pos+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(c.in[c.pos+2:c.pos+6]), 16, 16)
	c.pos += 6
	return rune(n), err == nil
}

func simpleEscape(b byte) (rune, bool) {
	switch b {
	case '"', '\\', '/':
		return rune(b), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	}
	return 0, false
}

func appendEscaped(out []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(out, '\\', byte(r))
	case '\b':
		return append(out, `\b`...)
	case '\f':
		return append(out, `\f`...)
	case '\n':
		return append(out, `\n`...)
	case '\r':
		return append(out, `\r`...)
	case '\t':
		return append(out, `\t`...)
	}
	if r < ' ' {
		return append(out, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
	}
	return utf8.AppendRune(out, r)
}

// unescape undoes [appendEscaped].
func unescape(quoted []byte) []byte {
	var key []byte
	c := canonicalizer{in: quoted}
	for c.pos < len(quoted) {
		if quoted[c.pos] != '\\' {
			key = append(key, quoted[c.pos])
			c.pos++
			continue
		}
		r, _ := c.escape()
		key = utf8.AppendRune(key, r)
	}
	return key
}

// number copies a number in its canonical spelling, if a double carries it exactly.
func (c *canonicalizer) number() bool {
	from := c.pos
	if c.peek() == '-' {
		c.pos++
	}
	digits := c.digits()
	if digits == 0 || (digits > 1 && c.in[c.pos-digits] == '0') {
		return false
	}
	whole := true
	if c.peek() == '.' {
		c.pos++
		if whole = false; c.digits() == 0 {
			return false
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.pos++
		if b := c.peek(); b == '+' || b == '-' {
			c.pos++
		}
		if whole = false; c.digits() == 0 {
			return false
		}
	}
	spelling := c.in[from:c.pos]
	if whole && digits <= 15 && spelling[0] != '-' {
		c.out = append(c.out, spelling...)
		return true
	}
	c.out = appendNumber(c.out, spelling)
	return true
}

func (c *canonicalizer) digits() int {
	from := c.pos
	for b := c.peek(); b >= '0' && b <= '9'; b = c.peek() {
		c.pos++
	}
	return c.pos - from
}

func appendNumber(out, spelling []byte) []byte {
	if f, err := strconv.ParseFloat(string(spelling), 64); err == nil {
		if short, err := jcs.NumberToJSON(f); err == nil && decimalOf(spelling) == decimalOf([]byte(short)) {
			return append(out, short...)
		}
	}
	return append(out, spelling...)
}

// decimal is the exact value of a number that has few digits: 0.DIGITS times ten to a power. No double
// needs more than 17 digits to be told from others; what has more is marked as inexact, and equals nothing
// that is not.
type decimal struct {
	digits   [17]byte
	exponent int
	negative bool
	inexact  bool
}

func decimalOf(spelling []byte) decimal {
	var d decimal
	whole, seen, first := -1, 0, -1
	i := 0
	for ; i < len(spelling) && spelling[i] != 'e' && spelling[i] != 'E'; i++ {
		switch b := spelling[i]; b {
		case '-':
			d.negative = true
			continue
		case '.':
			whole = seen
			continue
		case '0':
		default:
			if first < 0 {
				first = seen
			}
			if seen-first >= len(d.digits) {
				return decimal{inexact: true}
			}
			d.digits[seen-first] = b - '0'
		}
		seen++
	}
	if first < 0 {
		return decimal{} // zero has no sign and no power
	}
	if whole < 0 {
		whole = seen
	}
	if i < len(spelling) {
		power, err := strconv.Atoi(string(spelling[i+1:]))
		if err != nil {
			return decimal{inexact: true}
		}
		d.exponent = power
	}
	d.exponent += whole - first
	return d
}
