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

// ownersRemembered is how many owners a sweep remembers at most, in 32 MiB. Of a small installation it has slots for four times as many as
// there are: keys come in no order, and what the processor has at hand is many times as fast as all of that.
const ownersRemembered = 1 << 22

// ownersKnown remembers owners, a fixed number of them: keys come in no order, and without it SQL would be asked about each owner as often
// as it has keys. Two owners of one slot put each other out. A slot has 53 bits of a hash under a seed of the process, by which owners are told
// apart, the bucket, and whether it is a line in a family; 0 is empty.
type ownersKnown struct {
	seed  maphash.Seed
	slots []uint64
}

// slotBits are those that are not of the hash: a bucket is below 1024.
const slotBits = 11

func newOwnersKnown(n int) *ownersKnown {
	return &ownersKnown{maphash.MakeSeed(), make([]uint64, n)}
}

// hash is that of the owner of a key, without the bits that are not of it, and its slot.
func (k *ownersKnown) hash(n meterredis.Name) (uint64, *uint64) {
	h := maphash.String(k.seed, meter.UnitTag(n.Line, n.Family))
	return h >> slotBits << slotBits, &k.slots[h%uint64(len(k.slots))]
}

func (k *ownersKnown) get(n meterredis.Name) (o owner, known bool) {
	if n.Line+n.Family == "" {
		return o, false
	}
	h, slot := k.hash(n)
	if *slot == 0 || *slot>>slotBits<<slotBits != h {
		return o, false
	}
	return owner{int(*slot >> 1 & 1023), *slot&1 == 1}, true
}

func (k *ownersKnown) put(n meterredis.Name, o owner) {
	h, slot := k.hash(n)
	*slot = h | uint64(o.bucket)<<1
	if o.inFamily {
		*slot |= 1
	}
}
