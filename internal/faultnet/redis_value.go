package faultnet

import (
	"bytes"
	"math"
	"strconv"
)

// redisCommand returns the length of the command that bytes begin with, and its words; 0 is incomplete, -1
// is none. It has no words if it is empty. Quotes of an inline command are not taken off.
func redisCommand(b []byte) (size int, words [][]byte) {
	if len(b) == 0 {
		return 0, nil
	}
	if b[0] != '*' {
		size = bytes.IndexByte(b, '\n') + 1
		return size, bytes.Fields(b[:size])
	}
	if header, children := redisToken(b); children == 0 {
		return header, nil // the server passes over a list of nothing
	}
	if size = redisValue(b); size <= 0 {
		return size, nil
	}
	return size, redisWords(b, math.MaxInt)
}

// redisValue returns the length of the value that bytes begin with; 0 is incomplete, -1 is none.
func redisValue(b []byte) int {
	at := 0
	for left := 1; left > 0; left-- {
		size, children := redisToken(b[at:])
		if size <= 0 {
			return size
		}
		at += size
		left += children
	}
	return at
}

// redisWords returns the first strings of a complete list, up to n: until something else comes.
func redisWords(list []byte, n int) [][]byte {
	at, count := redisToken(list)
	var words [][]byte
	for len(words) < min(n, count) {
		size, _ := redisToken(list[at:])
		token := list[at : at+size]
		at += size
		switch token[0] {
		case '$':
			_, content, _ := bytes.Cut(token, []byte("\n"))
			words = append(words, bytes.TrimSuffix(content, []byte("\r\n")))
		case '+', '_': // a channel that is none, in RESP3
			words = append(words, bytes.TrimSpace(token[1:]))
		default:
			return words
		}
	}
	return words
}

// redisToken returns the length of what bytes begin with, a line with its content, and how many values
// belong to it beside; 0 is incomplete, -1 is no token.
func redisToken(b []byte) (size, children int) {
	if len(b) == 0 {
		return 0, 0
	}
	line := bytes.IndexByte(b, '\n') + 1
	switch b[0] {
	case '+', '-', ':', '_', '#', ',', '(':
		return line, 0
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		return -1, 0
	}
	if line == 0 {
		return 0, 0
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(b[1:line])), 10, 32)
	switch {
	case err != nil || n < -1:
		return -1, 0
	case n == -1: // none
		return line, 0
	}
	length := int(n)
	switch b[0] {
	case '*', '~', '>':
		return line, length
	case '%':
		return line, 2 * length
	case '|': // attributes of the value that follows
		return line, 2*length + 1
	}
	size = line + length + len("\r\n")
	if len(b) < size {
		return 0, 0
	}
	return size, 0
}
