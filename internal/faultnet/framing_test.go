package faultnet

import (
	"encoding/binary"
	"slices"
	"testing"
)

// ends returns where messages end in bytes that arrive all at once, or one by one.
func ends(split func([]byte) (int, Part), bytes []byte, oneByOne bool) []int {
	var found []int
	start, known := 0, len(bytes)
	if oneByOne {
		known = 1
	}
	for start < len(bytes) && known <= len(bytes) {
		size, part := split(bytes[start:known])
		switch {
		case size < 0 || size > known-start:
			return []int{-1}
		case size == 0:
			known++
			continue
		case part == Last:
			found = append(found, start+size)
		}
		start += size
		known = max(known, min(start+1, len(bytes)))
	}
	return found
}

func frame(kind byte, content string) []byte {
	bytes := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(content)+4))
	return append(bytes, content...)
}

func startPacket(code uint32, content string) []byte {
	bytes := binary.BigEndian.AppendUint32(nil, uint32(len(content)+8))
	return append(binary.BigEndian.AppendUint32(bytes, code), content...)
}

// loggedIn is a conversation whose client has logged in.
func loggedIn() Conversation {
	c := Postgres().Open()
	c.Client(startPacket(3<<16, "user\x00app\x00\x00"))
	c.Server(frame('Z', "I"))
	return c
}

func TestPostgresRequestsEndWithAQueryOrASync(t *testing.T) {
	t.Parallel()
	var sent []byte
	var want []int
	for _, part := range []struct {
		kind byte
		ends bool
	}{{'Q', true}, {'P', false}, {'B', false}, {'D', false}, {'E', false}, {'S', true}, {'d', false}, {'c', false}, {'F', true}, {'X', false}} {
		sent = append(sent, frame(part.kind, "content\x00")...)
		if part.ends {
			want = append(want, len(sent))
		}
	}
	for _, oneByOne := range []bool{false, true} {
		if got := ends(loggedIn().Client, sent, oneByOne); !slices.Equal(got, want) {
			t.Errorf("one by one %v: requests end at %v, want %v", oneByOne, got, want)
		}
	}
}

func TestPostgresEncryptionThatTheServerDeclines(t *testing.T) {
	t.Parallel()
	c := Postgres().Open()
	c.Client(startPacket(postgresTLS, ""))
	if size, part := c.Server([]byte("N")); size != 1 || part != Aside {
		t.Fatalf("the server's no: %d, %d", size, part)
	}
	c.Client(startPacket(3<<16, "user\x00app\x00\x00"))
	c.Server(frame('Z', "I"))
	if size, part := c.Client(frame('Q', "SELECT 1\x00")); size != 14 || part != Last {
		t.Errorf("a query after it: %d, %d", size, part)
	}
}

// It makes no difference in which pieces bytes arrive, and nothing is made of bytes that are not there.
func FuzzPostgres(f *testing.F) {
	f.Add(frame('Q', "SELECT 1\x00"), frame('Z', "I"))
	f.Add(startPacket(postgresTLS, ""), []byte("S\x16\x03"))
	f.Add(startPacket(3<<16, ""), frame('R', "\x00\x00\x00\x00"))
	f.Add([]byte{'Q', 0xff, 0xff, 0xff, 0xff}, []byte{'Z', 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, client, server []byte) {
		for _, open := range []func() Conversation{Postgres().Open, loggedIn} {
			whole, pieces := open(), open()
			for _, side := range []struct {
				whole, pieces func([]byte) (int, Part)
				bytes         []byte
			}{{whole.Client, pieces.Client, client}, {whole.Server, pieces.Server, server}, {whole.Client, pieces.Client, client}} {
				at, by := ends(side.whole, side.bytes, false), ends(side.pieces, side.bytes, true)
				if !slices.Equal(at, by) || slices.Contains(at, -1) {
					t.Errorf("messages end at %v in one piece, at %v byte by byte", at, by)
				}
			}
		}
	})
}
