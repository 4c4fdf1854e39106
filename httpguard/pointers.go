package httpguard

import (
	"fmt"
	"strconv"
	"strings"
)

// pointers are JSON pointers (RFC 6901) as a tree. A nil tree points to nothing.
type pointers struct {
	fields map[string]*pointers
	end    bool // of a pointer: what it points to is left out
}

// add adds a pointer such as "/meta/sentAt".
func (p *pointers) add(pointer string) error {
	if len(pointer) < 2 || pointer[0] != '/' {
		return fmt.Errorf("%q is neither a JSON pointer such as /meta/sentAt nor a query parameter such as ?ts", pointer)
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~") {
			return fmt.Errorf("%q is not a JSON pointer: ~ is written ~0, and / in a name ~1", pointer)
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		if p.fields == nil {
			p.fields = map[string]*pointers{}
		}
		if p.fields[name] == nil {
			p.fields[name] = &pointers{}
		}
		p = p.fields[name]
	}
	p.end = true
	return nil
}

// field returns what the pointers say about a field, and whether it is left out.
func (p *pointers) field(name []byte) (inner *pointers, excluded bool) {
	if p == nil {
		return nil, false
	}
	inner = p.fields[string(name)]
	return inner, inner != nil && inner.end
}

// item is field for an element of an array.
func (p *pointers) item(i int) (inner *pointers, excluded bool) {
	if p == nil {
		return nil, false
	}
	return p.field(strconv.AppendInt(nil, int64(i), 10))
}
