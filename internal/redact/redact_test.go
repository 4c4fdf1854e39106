package redact_test

import (
	"testing"

	"github.com/reprise-dev/reprise/internal/redact"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, word, want string }{
		{"order 7 of 17", "7", "order [key] of 17"},
		{"error: no usable answer for e", "e", "error: no usable answer for [key]"},
		{"7 7,7", "7", "[key] [key],[key]"},
		{"/orders/7?key=7", "7", "/orders/[key]?key=[key]"},
		{"key%3D0123456789abcdef", "0123456789abcdef", "key%3D[key]"},
		{"nothing", "", "nothing"},
		{"[key]", "key", "[[key]]"},
		{"", "7", ""},
	} {
		if got := redact.Replace(c.text, c.word, "[key]"); got != c.want {
			t.Errorf("Replace(%q, %q) = %q, want %q", c.text, c.word, got, c.want)
		}
	}
}
