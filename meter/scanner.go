package meter

import (
	"encoding/json"
	"unicode/utf8"
)

// scanner reads one flat JSON object. encoding/json would take Bytes for bytes, the last of two equal fields,
// and 1.0 or 1e3 for a whole number in some forms; here a text that can be read in two ways is refused.
type scanner struct {
	input []byte
	at    int
}

// object calls field for each field of the object, which is all that the text has. The function reads
// the value, and keeps neither name nor value.
func (s *scanner) object(field func(name []byte, s *scanner) error) error {
	if s.peek() != '{' {
		return s.malformed("an object in braces")
	}
	s.at++
	for first := true; ; first = false {
		switch c := s.peek(); {
		case c == '}' && first:
			return s.end()
		case c != '"':
			return s.malformed("the name of a field in double quotes")
		}
		name, err := s.quoted()
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.malformed("a colon")
		}
		s.at++
		if err := field(name, s); err != nil {
			return err
		}
		switch s.peek() {
		case '}':
			return s.end()
		case ',':
			s.at++
		default:
			return s.malformed("a comma or a closing brace")
		}
	}
}

func (s *scanner) end() error {
	s.at++
	if s.peek() != 0 || s.at < len(s.input) {
		return s.malformed("nothing more: one object is one event")
	}
	return nil
}

// peek skips white space and returns the byte behind it, or 0 at the end.
func (s *scanner) peek() byte {
	for ; s.at < len(s.input); s.at++ {
		switch c := s.input[s.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) malformed(expected string) *Refusal {
	return refuse(Malformed, "", "at byte %d: expected %s", s.at+1, expected)
}

// quoted reads a string, whose quote is next. It is a part of the input where that has no escapes.
func (s *scanner) quoted() ([]byte, error) {
	start, plain := s.at, true
	for i := start + 1; i < len(s.input); i++ {
		switch c := s.input[i]; {
		case c == '\\':
			plain = false
			i++
		case c == '"':
			s.at = i + 1
			if plain && utf8.Valid(s.input[start:i]) {
				return s.input[start+1 : i], nil
			}
			return s.unescape(start)
		}
	}
	return nil, s.malformed("a string with its closing quote")
}

func (s *scanner) unescape(start int) ([]byte, error) {
	quoted := s.input[start:s.at]
	var text string
	if !utf8.Valid(quoted) || json.Unmarshal(quoted, &text) != nil {
		s.at = start
		return nil, s.malformed("a JSON string")
	}
	return []byte(text), nil
}

// number reads all that can be part of a number, and more letters than that, so that they can be shown.
func (s *scanner) number() []byte {
	start := s.at
	for ; s.at < len(s.input); s.at++ {
		switch c := s.input[s.at]; {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '+', c == '-', c == '.', c == '_':
		default:
			return s.input[start:s.at]
		}
	}
	return s.input[start:]
}
