package httpguard

import "slices"

// maxDepth is how deep JSON may be nested to be compared in canonical form. It bounds the work: members
// of each level are moved at most once more for each level around it.
const maxDepth = 128

// canonicalizer writes JSON in the canonical form of RFC 8785, with one difference: a number that a
// double does not carry exactly keeps its spelling, so that two 64-bit identifiers never become one.
//
// It is written here rather than taken from a library because it runs for every guarded request: it
// allocates nothing once warm, needs memory in proportion to the input, and leaves fields out in the
// same pass. The tests hold it against a library's form.
type canonicalizer struct {
	in      []byte
	pos     int
	out     []byte
	depth   int
	members []member // of the objects that are open, innermost last
	moved   []byte   // room for reordering
}

// member is a name and its value in out.
type member struct {
	start, name, end int    // of the quoted name, the colon, and the value's end
	key              []byte // the name without quotes and escapes
	excluded         bool
}

const memberSize = 56 // bytes

// canonical returns the canonical form of a JSON text without the excluded fields. It is valid until
// the next call. False means that the text has no such form: it is not JSON, or not without doubt (a
// name twice in an object, broken UTF-8 or surrogates), or is nested too deep.
func (c *canonicalizer) canonical(in []byte, exclude *pointers) ([]byte, bool) {
	c.in, c.pos, c.out, c.depth, c.members = in, 0, c.out[:0], 0, c.members[:0]
	defer func() { c.in = nil }()
	c.space()
	if !c.value(exclude) {
		return nil, false
	}
	c.space()
	return c.out, c.pos == len(in)
}

// size is the memory in bytes that is kept for the next text.
func (c *canonicalizer) size() int {
	return cap(c.out) + cap(c.moved) + cap(c.members)*memberSize
}

func (c *canonicalizer) space() {
	for c.pos < len(c.in) {
		switch c.in[c.pos] {
		case ' ', '\t', '\n', '\r':
			c.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end.
func (c *canonicalizer) peek() byte {
	if c.pos < len(c.in) {
		return c.in[c.pos]
	}
	return 0
}

// take takes one byte, in and out.
func (c *canonicalizer) take(b byte) bool {
	if c.peek() != b {
		return false
	}
	c.pos++
	c.out = append(c.out, b)
	return true
}

func (c *canonicalizer) value(exclude *pointers) bool {
	switch c.peek() {
	case '{', '[':
		return c.nested(exclude)
	case '"':
		return c.text()
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	return c.number()
}

func (c *canonicalizer) nested(exclude *pointers) bool {
	if c.depth == maxDepth {
		return false
	}
	c.depth++
	defer func() { c.depth-- }()
	if c.peek() == '{' {
		return c.object(exclude)
	}
	return c.array(exclude)
}

func (c *canonicalizer) literal(word string) bool {
	if len(c.in)-c.pos < len(word) || string(c.in[c.pos:c.pos+len(word)]) != word {
		return false
	}
	c.pos += len(word)
	c.out = append(c.out, word...)
	return true
}

func (c *canonicalizer) array(exclude *pointers) bool {
	c.take('[')
	c.space()
	first := len(c.out)
	for i := 0; ; i++ {
		if i == 0 && c.take(']') {
			return true
		}
		start := len(c.out)
		if start > first {
			c.out = append(c.out, ',')
		}
		inner, excluded := exclude.item(i)
		if !c.value(inner) {
			return false
		}
		if excluded {
			c.out = c.out[:start]
		}
		c.space()
		if c.take(']') {
			return true
		}
		if c.peek() != ',' {
			return false
		}
		c.pos++
		c.space()
	}
}

func (c *canonicalizer) object(exclude *pointers) bool {
	c.take('{')
	c.space()
	base, first := len(c.members), len(c.out)
	for i := 0; i > 0 || c.peek() != '}'; i++ {
		if !c.member(exclude) {
			return false
		}
		c.space()
		if c.peek() == '}' {
			break
		}
		if !c.take(',') {
			return false
		}
		c.space()
	}
	if !c.arrange(c.members[base:], first) {
		return false
	}
	c.members = c.members[:base]
	return c.take('}')
}

func (c *canonicalizer) member(exclude *pointers) bool {
	m := member{start: len(c.out)}
	if c.peek() != '"' || !c.text() {
		return false
	}
	m.name = len(c.out)
	if quoted := c.out[m.start+1 : m.name-1]; slices.Contains(quoted, '\\') {
		m.key = unescape(quoted)
	}
	c.space()
	if !c.take(':') {
		return false
	}
	c.space()
	var inner *pointers
	if exclude != nil {
		inner, m.excluded = exclude.field(c.key(m))
	}
	if !c.value(inner) {
		return false
	}
	m.end = len(c.out)
	c.members = append(c.members, m)
	return true
}

// key returns a member's name. It is valid until out grows.
func (c *canonicalizer) key(m member) []byte {
	if m.key != nil {
		return m.key
	}
	return c.out[m.start+1 : m.name-1]
}

// arrange puts the members of an object, written from start on, in order and leaves out the excluded.
func (c *canonicalizer) arrange(members []member, start int) bool {
	asWritten := true
	for i := range members {
		members[i].key = c.key(members[i])
		asWritten = asWritten && !members[i].excluded && (i == 0 || compareUTF16(members[i-1].key, members[i].key) < 0)
	}
	if asWritten {
		return true
	}
	slices.SortFunc(members, func(a, b member) int { return compareUTF16(a.key, b.key) })
	c.moved = c.moved[:0]
	for i, m := range members {
		if i > 0 && compareUTF16(members[i-1].key, m.key) == 0 {
			return false
		}
		if m.excluded {
			continue
		}
		if len(c.moved) > 0 {
			c.moved = append(c.moved, ',')
		}
		c.moved = append(c.moved, c.out[m.start:m.end]...)
	}
	c.out = append(c.out[:start], c.moved...)
	return true
}

// compareUTF16 compares UTF-8 texts by their UTF-16 code units, as RFC 8785 sorts names. That is the
// order of the bytes, but for characters beyond U+FFFF, which come before U+E000 to U+FFFF.
func compareUTF16(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}
