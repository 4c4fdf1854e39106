package pgstore

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/reprise-dev/reprise/machine"
)

// What is written in the binary form the server reads, and what it returns in it is read.
func TestArraysOnTheWire(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s, conn := d.open(Options{}), d.connect()
	var digests [3]machine.Digest
	for i := range digests {
		digests[i] = newBegin().Scope.Digest
	}
	for n := range len(digests) + 1 {
		var uuids, numbers, texts array
		for _, a := range []*array{&uuids, &numbers, &texts} {
			a.add(nil)
			a.reset()
		}
		for _, digest := range digests[:n] {
			uuids.add(headForm(&digest))
			numbers.addBigint(math.MinInt64)
			numbers.add(nil)
			texts.add([]byte{})
		}
		var got []machine.Digest
		err := s.ask(t.Context(), conn, request{
			"SELECT $1::uuid[], cardinality(array_remove($2::bigint[], NULL))::bigint, $2::bigint[] @> ARRAY[-9223372036854775808], $3::bytea[] <@ ARRAY[''::bytea], cardinality($3)::bigint",
			[][]byte{uuids.of(oidUUID), numbers.of(oidBigint), texts.of(oidBytea)},
			func(columns [][]byte) error {
				if readBigint(columns[1]) != int64(n) || readBool(columns[2]) != (n > 0) || !readBool(columns[3]) || readBigint(columns[4]) != int64(n) {
					t.Errorf("%d elements: the server read %x", n, columns)
				}
				return readUUIDs(columns[0], func(uuid []byte) { got = append(got, machine.Digest(append(bytes.Clone(uuid), make([]byte, 16)...))) })
			},
		})
		if err != nil || len(got) != n {
			t.Fatalf("%d elements: %d came back: %v", n, len(got), err)
		}
		for i, half := range got {
			if !bytes.Equal(half[:16], digests[i][:16]) {
				t.Errorf("element %d of %d: %x, want %x", i, n, half[:16], digests[i][:16])
			}
		}
	}
	if err := readUUIDs(make([]byte, arrayHeader+1), func([]byte) {}); !errors.Is(err, errColumns) {
		t.Errorf("a form that is none: %v", err)
	}
}
