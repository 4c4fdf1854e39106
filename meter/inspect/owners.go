package inspect

import (
	"hash/maphash"

	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterredis"
)

// owner is what matters of a line or a family for the names of its keys.
type owner struct {
	bucket   int
	inFamily bool // a line that is in a family
}

// ownerOf is what a line of a family, or in none, or a family is.
func ownerOf(line, family string) owner {
	bucket, _ := meterredis.Name{Bucket: meterredis.UnitBucket(line, family)}.BucketOf() // it is one
	return owner{bucket, line != "" && family != ""}
}

// ownersRemembered is how many owners a sweep remembers, in 24 MiB.
const ownersRemembered = 1 << 20

// ownersKnown remembers owners, a fixed number of them: keys come in no order, and without it SQL would be asked about each owner as often
// as it has keys. Two owners of one slot put each other out. They are told apart by 64 bits under a seed of the process.
type ownersKnown struct {
	seed  maphash.Seed
	slots []ownerSlot
}

type ownerSlot struct {
	hash uint64 // 0: empty
	owner
}

func newOwnersKnown(n int) *ownersKnown {
	return &ownersKnown{maphash.MakeSeed(), make([]ownerSlot, n)}
}

// hash is that of the owner of a key, and its slot.
func (k *ownersKnown) hash(n meterredis.Name) (uint64, *ownerSlot) {
	h := maphash.String(k.seed, meter.UnitTag(n.Line, n.Family)) | 1
	return h, &k.slots[(h>>1)%uint64(len(k.slots))]
}

func (k *ownersKnown) get(n meterredis.Name) (o owner, known bool) {
	if n.Line+n.Family == "" {
		return o, false
	}
	h, slot := k.hash(n)
	if slot.hash != h {
		return o, false
	}
	return slot.owner, true
}

func (k *ownersKnown) put(n meterredis.Name, o owner) {
	h, slot := k.hash(n)
	*slot = ownerSlot{h, o}
}
