package httpguard

import (
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", maxKey)
	for name, c := range map[string]struct {
		lines  []string
		strict bool
		want   string // empty: malformed
	}{
		"raw":                    {lines: []string{"abc-123"}, want: "abc-123"},
		"raw, every character":   {lines: []string{"!#$%&'()*+-./09:;<=>?@AZ[\\]^_`az{|}~"}, want: "!#$%&'()*+-./09:;<=>?@AZ[\\]^_`az{|}~"},
		"raw with space around":  {lines: []string{" \tabc "}, want: "abc"},
		"quoted":                 {lines: []string{`"abc-123"`}, want: "abc-123"},
		"quoted with escapes":    {lines: []string{`"a\"b\\c"`}, want: `a"b\c`},
		"quoted with space":      {lines: []string{`"a b, c"`}, want: "a b, c"},
		"quoted, strict":         {lines: []string{`"abc"`}, strict: true, want: "abc"},
		"255 characters":         {lines: []string{long}, want: long},
		"255 characters, quoted": {lines: []string{`"` + long + `"`}, want: long},
		"raw, strict":            {lines: []string{"abc"}, strict: true},
		"256 characters":         {lines: []string{long + "k"}},
		"256 characters, quoted": {lines: []string{`"` + long + `k"`}},
		"empty":                  {lines: []string{""}},
		"blank":                  {lines: []string{" \t "}},
		"empty, quoted":          {lines: []string{`""`}},
		"blank, quoted":          {lines: []string{`"  "`}},
		"sent twice":             {lines: []string{"abc", "abc"}},
		"sent twice, one empty":  {lines: []string{"abc", ""}},
		"a list":                 {lines: []string{"abc, def"}},
		"a list of quoted":       {lines: []string{`"abc", "def"`}},
		"parameters":             {lines: []string{`"abc";v=1`}},
		"not closed":             {lines: []string{`"abc`}},
		"something after":        {lines: []string{`"abc"d`}},
		"quote inside":           {lines: []string{`ab"c`}},
		"space inside":           {lines: []string{"a b"}},
		"control character":      {lines: []string{"a\x01b"}},
		"control, quoted":        {lines: []string{"\"a\x01b\""}},
		"delete":                 {lines: []string{"a\x7fb"}},
		"not ASCII":              {lines: []string{"schlüssel"}},
		"not ASCII, quoted":      {lines: []string{`"schlüssel"`}},
		"wrong escape":           {lines: []string{`"a\nb"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseKey(c.lines, c.strict)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("parseKey(%q) = %q, %v; want %q", c.lines, got, err, c.want)
			}
		})
	}
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{"", "abc", `"abc"`, `"a\"b"`, `"abc";v=1`, "a,b", "\x00", `"`, strings.Repeat("x", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, err := parseKey([]string{value}, false)
		if err != nil {
			if key != "" {
				t.Fatalf("refused, and still a key: %q", key)
			}
			return
		}
		if len(key) == 0 || len(key) > maxKey {
			t.Fatalf("%q: %d characters", value, len(key))
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := parseKey([]string{quoted}, true); err != nil || again != key {
			t.Fatalf("%q is the key %q, and quoted %q, %v", value, key, again, err)
		}
	})
}
