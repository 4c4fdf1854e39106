package httpguard

import (
	"encoding/binary"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/reprise-dev/reprise"
)

// Codec names the form in which answers are recorded.
//
//	version (1)
//	length of the head
//	head: status, number of headers, for each: name, number of values, values
//	body: the rest
//
// Numbers are unsigned varints; texts are preceded by their length.
const Codec = "http/1"

const codecVersion = 1

// Answer is an answer as it is recorded: without what must not be replayed.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Response encodes the answer. Names of headers are sorted; values keep their order.
func (a Answer) Response() reprise.Response {
	return reprise.Response{Codec: Codec, Data: a.encode()}
}

// note is the response that stands for an answer which is not kept.
func note(status int) reprise.Response {
	return reprise.Response{Codec: Codec, Data: Answer{Status: status}.encode(), NotKept: true}
}

// ReadAnswer decodes a response. It shares the body's memory with it.
func ReadAnswer(response reprise.Response) (Answer, error) {
	if response.Codec != Codec {
		return Answer{}, errors.New("httpguard: the recorded answer is of codec " + response.Codec + ", not " + Codec)
	}
	return decodeAnswer(response.Data)
}

func (a Answer) encode() []byte {
	head := a.headSize()
	data := make([]byte, 0, 1+uvarintSize(head)+head+len(a.Body))
	data = append(data, codecVersion)
	data = binary.AppendUvarint(data, uint64(head))
	data = binary.AppendUvarint(data, uint64(a.Status))
	data = binary.AppendUvarint(data, uint64(len(a.Header)))
	var room [16]string
	names := slices.AppendSeq(room[:0], maps.Keys(a.Header))
	slices.Sort(names)
	for _, name := range names {
		data = appendText(data, name)
		data = binary.AppendUvarint(data, uint64(len(a.Header[name])))
		for _, value := range a.Header[name] {
			data = appendText(data, value)
		}
	}
	return append(data, a.Body...)
}

func (a Answer) headSize() int {
	size := uvarintSize(a.Status) + uvarintSize(len(a.Header))
	for name, values := range a.Header {
		size += textSize(name) + uvarintSize(len(values))
		for _, value := range values {
			size += textSize(value)
		}
	}
	return size
}

func appendText(data []byte, s string) []byte {
	return append(binary.AppendUvarint(data, uint64(len(s))), s...)
}

func textSize(s string) int { return uvarintSize(len(s)) + len(s) }

func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

var errCodec = errors.New("httpguard: the recorded answer is not of codec " + Codec)

func decodeAnswer(data []byte) (Answer, error) {
	if len(data) == 0 || data[0] != codecVersion {
		return Answer{}, errCodec
	}
	size, n := binary.Uvarint(data[1:])
	if n <= 0 || size > uint64(len(data)-1-n) {
		return Answer{}, errCodec
	}
	start := 1 + n
	end := start + int(size)
	// All names and values are parts of one string.
	d := decoder{rest: string(data[start:end])}
	a := Answer{Status: d.number(), Body: data[end:]}
	count := d.number()
	a.Header = make(http.Header, min(count, 64))
	values := make([]string, 0, min(count, 64))
	for range count {
		name, lines := d.text(), d.number()
		if d.failed {
			break
		}
		first := len(values)
		for range lines {
			if values = append(values, d.text()); d.failed {
				break
			}
		}
		a.Header[name] = values[first:len(values):len(values)]
	}
	if d.failed || d.rest != "" || len(a.Header) != count || a.Status < 100 || a.Status > 999 {
		return Answer{}, errCodec
	}
	return a, nil
}

// decoder reads a head. After a mistake everything it returns is zero.
type decoder struct {
	rest   string
	failed bool
}

// number reads a count or a length: never more than the bytes that are left, but for a status.
func (d *decoder) number() int {
	value, shift := uint64(0), 0
	for i := 0; i < len(d.rest) && shift < 63; i, shift = i+1, shift+7 {
		b := d.rest[i]
		value |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if d.rest = d.rest[i+1:]; value > 999 && value > uint64(len(d.rest)) {
				break
			}
			return int(value)
		}
	}
	d.failed, d.rest = true, ""
	return 0
}

func (d *decoder) text() string {
	n := d.number()
	if n > len(d.rest) {
		d.failed, d.rest = true, ""
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}
