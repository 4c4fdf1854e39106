package httpguard

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
)

func canonical(text string, exclude ...string) (string, bool) {
	var p *pointers
	if len(exclude) > 0 {
		p = &pointers{}
		for _, e := range exclude {
			if err := p.add(e); err != nil {
				panic(err)
			}
		}
	}
	var c canonicalizer
	out, ok := c.canonical([]byte(text), p)
	return string(out), ok
}

func TestCanonicalJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		` { "b" : 2 , "a" : [ 1 , true , null ] } `: `{"a":[1,true,null],"b":2}`,
		`{"a":{"d":1,"c":{"f":1,"e":2}}}`:           `{"a":{"c":{"e":2,"f":1},"d":1}}`,
		`{}`:                                        `{}`, `[]`: `[]`, `""`: `""`, ` 7 `: `7`,
		`"\u0041\/\u00e9\n\u000a\u0001\u007f"`: "\"A/é\\n\\n\\u0001\x7f\"",
		`"\ud83d\ude00"`:                       `"😀"`,
		`{"\u0061":1}`:                         `{"a":1}`,
		// Sorted by UTF-16: U+1F600 (D83D DE00) stands before U+FB33.
		`{"` + "\ufb33" + `":1,"😀":2,"\"":3,"\u0001":4}`: "{\"\\u0001\":4,\"\\\"\":3,\"😀\":2,\"\ufb33\":1}",
		// Numbers that a double carries.
		`[1.0,1e0,10E-1,0.10,-0,-0.0,1E+3,12.50,1e21,1e-7]`: `[1,1,1,0.1,0,0,1000,12.5,1e+21,1e-7]`,
		`[9007199254740992,9007199254740992.0]`:             `[9007199254740992,9007199254740992]`,
		// Numbers that it does not.
		`[9007199254740993,18446744073709551615]`:                  `[9007199254740993,18446744073709551615]`,
		`[1e400,1e-400,0.1000000000000000055,1e99999999999999999]`: `[1e400,1e-400,0.1000000000000000055,1e99999999999999999]`,
		`[-9007199254740993,123456789012345678901]`:                `[-9007199254740993,123456789012345678901]`,
	} {
		if got, ok := canonical(in); !ok || got != want {
			t.Errorf("%s\n gives %s, %v\n  want %s", in, got, ok, want)
		}
	}
}

func TestNotCanonicalJSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		``, ` `, `{`, `}`, `[1,]`, `[,1]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `{1:2}`, `[1 2]`, `1 2`, `tru`, `truee`, `nul`,
		`01`, `1.`, `.5`, `+1`, `1e`, `1e+`, `-`, `0x10`, `NaN`, `1_000`,
		`"`, `"\x"`, `"\u12"`, `"\u00g0"`, "\"\n\"", "\"\xff\"", "\"\xc3\"", `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\`,
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"x":{"a":1,"b":2,"a":3}}`,
		strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<20),
	} {
		if got, ok := canonical(in); ok {
			t.Errorf("%.40q gives %.40q, want nothing", in, got)
		}
	}
	if _, ok := canonical(strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)); !ok {
		t.Errorf("depth %d is too deep already", maxDepth)
	}
}

func TestExcludedFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, want string
		exclude  []string
	}{
		{`{"a":1,"ts":2}`, `{"a":1}`, []string{"/ts"}},
		{`{"ts":2}`, `{}`, []string{"/ts"}},
		{`{"meta":{"sentAt":1,"by":"x"},"sentAt":2}`, `{"meta":{"by":"x"},"sentAt":2}`, []string{"/meta/sentAt"}},
		{`{"meta":{"sentAt":1}}`, `{"meta":{}}`, []string{"/meta/sentAt"}},
		{`[1,2,3]`, `[1,3]`, []string{"/1"}},
		{`[1,2,3]`, `[]`, []string{"/0", "/1", "/2"}},
		{`{"items":[{"ts":1,"n":2},{"ts":3}]}`, `{"items":[{"n":2},{"ts":3}]}`, []string{"/items/0/ts"}},
		{`{"a/b":1,"c~d":2,"\"":3,"e":4}`, `{"e":4}`, []string{"/a~1b", "/c~0d", `/"`}},
		{`{"a":{"b":1}}`, `{}`, []string{"/a", "/a/b"}},
		{`{"a":1}`, `{"a":1}`, []string{"/a/b", "/z"}},
	} {
		if got, ok := canonical(c.in, c.exclude...); !ok || got != c.want {
			t.Errorf("%s without %v is %s, %v; want %s", c.in, c.exclude, got, ok, c.want)
		}
	}
	if _, ok := canonical(`{"ts":1,"ts":2}`, "/ts"); ok {
		t.Error("an excluded field that is there twice was accepted")
	}
}

// The canonical form is that of the library, but for numbers.
func FuzzCanonicalJSON(f *testing.F) {
	for _, seed := range []string{
		`{"b":2,"a":[1,2.50,-0,1e21,"\u00e9\ud83d\ude00"]}`, `[9007199254740993,1e400]`, `{"a":1,"a":2}`, "\"\xff\"", `[[[[]]]]`,
		`{"\"":1,"\\":2,"\u0008":3}`, `[1,]`, `tru`, `-`, `0.1000000000000000055`, "{\"\ufb33\":1,\"😀\":2}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var c canonicalizer
		out, ok := c.canonical(in, nil)
		library, err := jcs.Transform(bytes.Clone(in))
		if !ok {
			if deep := bytes.Count(in, []byte("[")) + bytes.Count(in, []byte("{")); err == nil && deep <= maxDepth {
				t.Fatalf("refused, and the library gives %q", library)
			}
			return
		}
		once := bytes.Clone(out)
		again, ok := c.canonical(once, nil)
		if !ok || !bytes.Equal(again, once) {
			t.Fatalf("%q is no fixed point: %q, %v", once, again, ok)
		}
		if err != nil {
			return // a number out of range
		}
		// What is left of the numbers' spelling is gone once the library has read it.
		rounded, err := jcs.Transform(once)
		if err != nil || !bytes.Equal(rounded, library) {
			t.Fatalf("%q gives %q, the library %q", in, once, library)
		}
	})
}
