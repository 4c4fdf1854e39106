package httpguard

import (
	"strings"

	"github.com/dunglas/httpsfv"
)

// maxKey is the length of the longest key, in characters.
const maxKey = 255

// malformed says what is wrong with a key, and what to send instead.
type malformed string

func (m malformed) Error() string { return string(m) }

// ParseKey reads the lines of a key's header, of which there is at least one, as a guard reads them that is not strict. Its
// error says what to send instead. It is for handlers that keep their operations themselves.
func ParseKey(lines []string) (string, error) { return parseKey(lines, false) }

// parseKey reads the lines of a key's header; there is at least one. The quoted spelling (a structured
// field's string) and the raw one of the same characters are the same key.
func parseKey(lines []string, strict bool) (string, error) {
	if len(lines) != 1 {
		return "", malformed("The header was sent more than once. Send one line with one key.")
	}
	value := strings.Trim(lines[0], " \t")
	switch {
	case value == "":
		return "", malformed("The header is empty. Send a key, or leave the header out where keys are optional.")
	case value[0] == '"':
		return parseQuoted(value)
	case strict:
		return "", malformed(`The key must be in double quotes, as in "8e03978e-40d5-43e8-bc93-6894a57f9324".`)
	case len(value) > maxKey:
		return "", malformed("The key is longer than 255 characters.")
	}
	for i := range len(value) {
		if c := value[i]; c < '!' || c > '~' || c == '"' || c == ',' {
			return "", malformed("The key holds a space, a comma, a double quote, or what is not printable ASCII. Send 1 to 255 characters, one key only.")
		}
	}
	return value, nil
}

func parseQuoted(value string) (string, error) {
	item, err := httpsfv.UnmarshalItem([]string{value})
	if err != nil {
		return "", malformed("What begins with a double quote must be one structured-field string: printable ASCII in double quotes, with \\\" and \\\\ as the only escapes.")
	}
	key, ok := item.Value.(string)
	switch {
	case !ok || len(item.Params.Names()) > 0:
		return "", malformed("The key must be a string without parameters.")
	case strings.Trim(key, " ") == "":
		return "", malformed("The key is blank.")
	case len(key) > maxKey:
		return "", malformed("The key is longer than 255 characters.")
	}
	return key, nil
}
