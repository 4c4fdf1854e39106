package httpguard

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzPointers: any text is taken or refused, and what is taken leaves out the one field that it points to.
func FuzzPointers(f *testing.F) {
	for _, seed := range []string{"", "/", "//", "/a", "/a/b", "/a~1b/~0", "/~01", "/a~", "/~2", "/0/ts", "a/b", "?ts", `/"/\`, "/\x00\n", "/ü/\ufb33"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		var p pointers
		err := p.add(pointer)
		tokens := strings.Split(pointer, "/")[1:]
		if err != nil {
			escaped := strings.NewReplacer("~0", "", "~1", "").Replace(pointer)
			if len(pointer) > 1 && pointer[0] == '/' && !strings.Contains(escaped, "~") {
				t.Fatalf("%q is a pointer, and was refused: %v", pointer, err)
			}
			return
		}
		if !utf8.ValidString(pointer) || len(tokens) >= maxDepth {
			return // no JSON text has such a field
		}
		in, want := `{"stays":1}`, `{"stays":1}`
		for i := len(tokens) - 1; i >= 0; i-- {
			name := strings.ReplaceAll(strings.ReplaceAll(tokens[i], "~1", "/"), "~0", "~")
			if name == "stays" {
				return
			}
			member, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			if i == len(tokens)-1 {
				in = `{"stays":1,` + string(member) + `:` + in + `}`
			} else {
				in, want = `{`+string(member)+`:`+in+`}`, `{`+string(member)+`:`+want+`}`
			}
		}
		var c canonicalizer
		got, ok := c.canonical([]byte(in), &p)
		left := string(got)
		expected, okExpected := c.canonical([]byte(want), nil)
		if !ok || !okExpected || left != string(expected) {
			t.Fatalf("%s without %q is %s, %v; want %s", in, pointer, left, ok, expected)
		}
	})
}
