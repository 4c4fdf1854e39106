package inspect

import (
	"testing"

	"github.com/reprise-dev/reprise/meter/meterledger"
)

// What is found in SQL is of the unit that its line is in now, and of its family's only if the line has left it: names tell nothing, because
// a line may be called like a family.
func TestUnitOfARow(t *testing.T) {
	t.Parallel()
	members := map[string]string{"alone": "", "in": "family", "family": ""}
	for _, c := range []struct{ line, family, want string }{
		{"alone", "", "l:alone"},
		{"alone", "family", "l:alone"},
		{"in", "", "f:family"},
		{"in", "before", "f:family"},
		{"gone", "family", "f:family"},
		{"", "family", "f:family"},
		{"family", "", "l:family"},
	} {
		if is := unitOf(meterledger.Difference{Line: c.line, Family: c.family}, members); is != c.want {
			t.Errorf("line %q, family %q: %s, want %s", c.line, c.family, is, c.want)
		}
	}
}
