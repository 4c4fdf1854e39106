package faultnet

import "encoding/binary"

// mysqlAnswer is how far the answer to a command has come.
type mysqlAnswer struct {
	rows  bool // rows follow, or the end of the result
	left  int  // packets before the rows, or before the end of what a preparation is answered
	begun bool // of a preparation
	long  bool // the last packet goes on in the next
}

// ends takes the next packet of an answer, and reports whether it is the last.
func (a *mysqlAnswer) ends(payload []byte, command byte, noEOF, caching bool) bool {
	goesOn := a.long
	a.long = len(payload) == mysqlLargest
	switch {
	case goesOn || a.long || len(payload) == 0:
		return false
	case a.left > 0:
		a.left--
		return a.begun && a.left == 0
	case command == mysqlPrepare:
		return a.prepared(payload, noEOF)
	case command != mysqlQuery && command != mysqlExecute:
		return true
	case payload[0] == 0xff: // an error
		return true
	case a.rows && payload[0] == 0xfe && (noEOF || len(payload) <= mysqlOldEndAtMost):
		a.rows = false
		return !mysqlMore(payload, noEOF)
	case a.rows:
		return false
	case payload[0] == 0: // done, without rows
		return !mysqlMore(payload, true)
	}
	columns, rest := mysqlInteger(payload)
	if !caching || len(rest) == 0 || rest[0] != 0 { // else they are known from before
		a.left = columns
	}
	if !noEOF {
		a.left++
	}
	a.rows = true
	return false
}

// prepared is about the first packet that a preparation is answered with.
func (a *mysqlAnswer) prepared(payload []byte, noEOF bool) bool {
	if payload[0] != 0 || len(payload) < mysqlPreparedBytes-3 {
		return true
	}
	for _, n := range []int{int(binary.LittleEndian.Uint16(payload[5:])), int(binary.LittleEndian.Uint16(payload[7:]))} {
		if a.left += n; n > 0 && !noEOF {
			a.left++
		}
	}
	a.begun = true
	return a.left == 0
}

// mysqlMore reports whether the end of a result says that another follows.
func mysqlMore(payload []byte, counted bool) bool {
	if !counted { // 0xfe, warnings, state
		return len(payload) >= 5 && binary.LittleEndian.Uint16(payload[3:])&mysqlMoreFollows != 0
	}
	_, rest := mysqlInteger(payload[1:]) // rows
	_, rest = mysqlInteger(rest)         // id
	return len(rest) >= 2 && binary.LittleEndian.Uint16(rest)&mysqlMoreFollows != 0
}

// mysqlInteger reads an integer that says its own length. One that cannot be is 0.
func mysqlInteger(b []byte) (int, []byte) {
	if len(b) == 0 {
		return 0, nil
	}
	size := map[byte]int{0xfc: 2, 0xfd: 3, 0xfe: 8}[b[0]]
	switch {
	case size == 0:
		return int(b[0]), b[1:]
	case len(b) <= size:
		return 0, nil
	}
	n := 0
	for i := size; i > 0; i-- {
		n = n<<8 | int(b[i])
	}
	return n, b[1+size:]
}
