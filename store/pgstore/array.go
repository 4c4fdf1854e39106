package pgstore

import "encoding/binary"

// The types of what arrays are of.
const (
	oidBytea  = 17
	oidBigint = 20
	oidUUID   = 2950
)

// array is an argument that is an array of PostgreSQL, in its binary form: a header, then each element
// after its length. It can be used again after reset.
type array struct {
	form  []byte
	count uint32
}

// arrayHeader is the length of a header: dimensions, whether there are NULLs, the elements' type, their
// number, and the first index.
const arrayHeader = 20

func (a *array) reset() { a.form, a.count = append(a.form[:0], make([]byte, arrayHeader)...), 0 }

// add adds an element; nil is NULL.
func (a *array) add(element []byte) {
	length := uint32(len(element))
	if element == nil {
		length = 1<<32 - 1
	}
	a.form = append(binary.BigEndian.AppendUint32(a.form, length), element...)
	a.count++
}

func (a *array) addBigint(v int64) {
	a.form = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(a.form, 8), uint64(v))
	a.count++
}

// of returns the argument.
func (a *array) of(oid uint32) []byte {
	header := a.form[:0]
	if a.count == 0 {
		header = binary.BigEndian.AppendUint32(header, 0)
		header = binary.BigEndian.AppendUint32(header, 0)
		return binary.BigEndian.AppendUint32(header, oid)
	}
	header = binary.BigEndian.AppendUint32(header, 1)
	header = binary.BigEndian.AppendUint32(header, 1) // there may be NULLs
	header = binary.BigEndian.AppendUint32(header, oid)
	header = binary.BigEndian.AppendUint32(header, a.count)
	binary.BigEndian.AppendUint32(header, 1)
	return a.form
}

// readUUIDs calls each with the elements of an array of uuids that has no NULLs.
func readUUIDs(column []byte, each func(uuid []byte)) error {
	if len(column) < arrayHeader {
		return nil // NULL, or of no dimension: empty
	}
	n := int(binary.BigEndian.Uint32(column[12:]))
	elements := column[arrayHeader:]
	if len(elements) != n*(4+16) {
		return errColumns
	}
	for ; n > 0; n-- {
		each(elements[4 : 4+16])
		elements = elements[4+16:]
	}
	return nil
}
