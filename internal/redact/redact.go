// Package redact takes secrets out of texts that are recorded.
package redact

import "strings"

// longWord is from how many bytes on a word is taken out wherever it stands: so many do not stand together by chance.
const longWord = 12

// Replace puts a label in the place of a word, which may be empty. A short word counts only by itself: of the name 7 nothing is in 17, and a
// text in which every e was replaced would say nothing to whoever has to judge it, and the e all the same.
func Replace(text, word, label string) string {
	if len(word) >= longWord {
		return strings.ReplaceAll(text, word, label)
	}
	for from := 0; ; {
		at := Index(text[from:], word)
		if at < 0 {
			return text
		}
		text = text[:from+at] + label + text[from+at+len(word):]
		from += at + len(label)
	}
}

// Index returns where a word stands in a text by itself, or -1.
func Index(text, word string) int {
	for from := 0; word != ""; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			break
		}
		start, end := from+at, from+at+len(word)
		if (start == 0 || !alphanumeric(text[start-1])) && (end == len(text) || !alphanumeric(text[end])) {
			return start
		}
		from = start + 1
	}
	return -1
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
