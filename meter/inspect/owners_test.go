package inspect

import (
	"fmt"
	"testing"

	"github.com/reprise-dev/reprise/meter/meterredis"
)

// What is remembered of an owner is what was said of it; one that was put out of its slot is not known.
func TestOwnersKnown(t *testing.T) {
	t.Parallel()
	const owners = 2000
	k, known := newOwnersKnown(owners/2), 0
	for i := range owners {
		k.put(nameOf(i))
	}
	for i := range owners {
		n, want := nameOf(i)
		got, ok := k.get(n)
		if ok && got != want {
			t.Errorf("%+v: %+v, want %+v", n, got, want)
		}
		if ok {
			known++
		}
	}
	if known < owners/4 || known > owners/2 {
		t.Errorf("%d of %d are known, in %d slots", known, owners, owners/2)
	}
	if o, ok := k.get(meterredis.Name{}); ok {
		t.Errorf("nobody is known as %+v", o)
	}
}

func nameOf(i int) (meterredis.Name, owner) {
	id, family := fmt.Sprint("owner-", i), fmt.Sprint("family-", i)
	switch i % 3 {
	case 0:
		return meterredis.Name{Family: id}, ownerOf("", id)
	case 1:
		return meterredis.Name{Line: id}, ownerOf(id, family)
	}
	return meterredis.Name{Line: id}, ownerOf(id, "")
}
