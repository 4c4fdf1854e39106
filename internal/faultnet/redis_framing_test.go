package faultnet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// command is a command as clients send it.
func command(words ...string) []byte {
	bytes := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		bytes = fmt.Appendf(bytes, "$%d\r\n%s\r\n", len(word), word)
	}
	return bytes
}

// exchange is some bytes, and how many messages end with them.
type exchange struct {
	bytes string
	ends  int
}

func TestRedisRequestsAndReplies(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("\r\n+OK", 1<<15)
	for _, test := range []struct {
		name           string
		client, server []exchange
	}{
		{"commands one after the other",
			[]exchange{{string(command("SET", "order", "1")), 1}, {string(command("GET", "order")), 1}},
			[]exchange{{"+OK\r\n", 1}, {"$1\r\n1\r\n", 1}}},
		{"inline commands, and lines with none",
			[]exchange{{"GET order\r\n", 1}, {"\r\n", 0}, {"get order\n", 1}, {"*0\r\n", 0}, {"*-1\r\n", 0}},
			[]exchange{{"$-1\r\n", 1}, {"$-1\r\n", 1}}},
		{"strings that look like protocol",
			[]exchange{{string(command("SET", "order", big)), 1}, {string(command("GET", "order")), 1}},
			[]exchange{{"+OK\r\n", 1}, {fmt.Sprintf("$%d\r\n%s\r\n", len(big), big), 1}}},
		{"a hello that is not counted",
			[]exchange{{string(command("HELLO", "3", "AUTH", "app", "secret")), 0}, {string(command("client", "setinfo", "LIB-NAME", "x")), 0}, {string(command("GET", "order")), 1}, {"PING\r\n", 0}},
			[]exchange{{"%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nmodules\r\n*0\r\n", 0}, {"+OK\r\n", 0}, {"_\r\n", 1}, {"+PONG\r\n", 0}}},
		{"a transaction is one request",
			[]exchange{{string(command("WATCH", "order")), 1}, {string(command("MULTI")), 0}, {string(command("SET", "order", "1")), 0}, {string(command("PING")), 0}, {string(command("EXEC")), 1}, {string(command("GET", "order")), 1}},
			[]exchange{{"+OK\r\n", 1}, {"+OK\r\n", 0}, {"+QUEUED\r\n", 0}, {"+QUEUED\r\n", 0}, {"*2\r\n+OK\r\n+PONG\r\n", 1}, {"$1\r\n1\r\n", 1}}},
		{"transactions that fail",
			[]exchange{{string(command("MULTI")), 0}, {string(command("NONSENSE")), 0}, {string(command("EXEC")), 1}, {string(command("MULTI")), 0}, {string(command("DISCARD")), 1}, {string(command("EXEC")), 1}},
			[]exchange{{"+OK\r\n", 0}, {"-ERR unknown command\r\n", 0}, {"-EXECABORT no\r\n", 1}, {"+OK\r\n", 0}, {"+OK\r\n", 1}, {"-ERR EXEC without MULTI\r\n", 1}}},
		{"every type of RESP3",
			[]exchange{{string(command("EVAL", "…", "0")), 1}, {string(command("EVAL", "…", "0")), 1}, {string(command("EVAL", "…", "0")), 1}},
			[]exchange{
				{"*9\r\n:1\r\n,1.5\r\n#t\r\n(123456789012345678901234567890\r\n=5\r\ntxt:x\r\n!5\r\nERR x\r\n~1\r\n+a\r\n%1\r\n+a\r\n*1\r\n_\r\n*-1\r\n", 1},
				{"|1\r\n+ttl\r\n:5\r\n$1\r\nx\r\n", 1}, {"-ERR no\r\n", 1}}},
		{"pushes between replies",
			[]exchange{{string(command("GET", "order")), 1}, {string(command("LRANGE", "list", "0", "1")), 1}},
			[]exchange{{">2\r\n$10\r\ninvalidate\r\n*1\r\n$5\r\norder\r\n", 0}, {"$1\r\n1\r\n", 1}, {">3\r\n$7\r\nmessage\r\n$6\r\norders\r\n$1\r\n1\r\n", 0}, {"*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", 1}, {">2\r\n$10\r\ninvalidate\r\n_\r\n", 0}}},
		{"subscriptions of RESP2",
			[]exchange{{string(command("SUBSCRIBE", "a", "b")), 1}, {string(command("PSUBSCRIBE", "c*")), 1}, {string(command("PING")), 0}, {string(command("UNSUBSCRIBE")), 1}, {string(command("PUNSUBSCRIBE", "c*")), 1}, {string(command("UNSUBSCRIBE")), 1}, {string(command("LRANGE", "list", "0", "1")), 1}},
			[]exchange{
				{channel('*', "subscribe", "a", 1), 0}, {channel('*', "subscribe", "b", 2), 1}, {"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n1\r\n", 0},
				{channel('*', "psubscribe", "c*", 3), 1}, {"*4\r\n$8\r\npmessage\r\n$2\r\nc*\r\n$2\r\ncc\r\n$1\r\n1\r\n", 0}, {"*2\r\n$4\r\npong\r\n$0\r\n\r\n", 0},
				{channel('*', "unsubscribe", "b", 2), 0}, {channel('*', "unsubscribe", "a", 1), 1}, {channel('*', "punsubscribe", "c*", 0), 1},
				{"*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n", 1}, {"*2\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n", 1}}},
		{"subscriptions of RESP3, and other commands beside",
			[]exchange{{string(command("SSUBSCRIBE", "a")), 1}, {string(command("LRANGE", "list", "0", "1")), 1}, {string(command("SUBSCRIBE", "b")), 1}, {string(command("SUNSUBSCRIBE")), 1}},
			[]exchange{
				{channel('>', "ssubscribe", "a", 1), 1}, {"*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", 1}, {channel('>', "sunsubscribe", "a", 0), 0},
				{"-NOPERM no\r\n", 1}, {">3\r\n$12\r\nsunsubscribe\r\n_\r\n:0\r\n", 1}}},
		{"a reset ends transactions and subscriptions",
			[]exchange{{string(command("SUBSCRIBE", "a")), 1}, {string(command("RESET")), 0}, {string(command("LRANGE", "list", "0", "1")), 1}, {string(command("MULTI")), 0}, {string(command("RESET")), 1}, {string(command("GET", "order")), 1}},
			[]exchange{{channel('*', "subscribe", "a", 1), 1}, {"+RESET\r\n", 0}, {"*2\r\n$7\r\nmessage\r\n$1\r\nx\r\n", 1}, {"+OK\r\n", 0}, {"+RESET\r\n", 1}, {"$-1\r\n", 1}}},
		{"replication has no messages",
			[]exchange{{string(command("PING")), 0}, {string(command("PSYNC", "?", "-1")), 0}, {string(command("REPLCONF", "ACK", "0")), 0}},
			[]exchange{{"+PONG\r\n", 0}, {"+FULLRESYNC 0 0\r\n$3\r\nREDIS", 0}}},
		{"what is encrypted has no messages",
			[]exchange{{"\x16\x03\x01" + string(command("GET", "order")), 0}}, []exchange{{"\x16\x03\x01+OK\r\n", 0}}},
		{"what is no protocol passes",
			[]exchange{{string(command("GET", "order")), 1}, {"*1\r\nnonsense\r\n", 0}, {string(command("GET", "order")), 0}},
			[]exchange{{"?\r\n", 0}, {"+OK\r\n", 0}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, oneByOne := range []bool{false, true} {
				c := Redis().Open()
				wantEnds(t, "client", c.Client, test.client, oneByOne)
				wantEnds(t, "server", c.Server, test.server, oneByOne)
			}
		})
	}
}

// channel is a notice about a channel.
func channel(kind byte, notice, name string, left int) string {
	return fmt.Sprintf("%c3\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n:%d\r\n", kind, len(notice), notice, len(name), name, left)
}

func wantEnds(t *testing.T, side string, split func([]byte) (int, Part), said []exchange, oneByOne bool) {
	t.Helper()
	var all []byte
	var want []int
	for _, e := range said {
		all = append(all, e.bytes...)
		if e.ends > 0 {
			want = append(want, len(all))
		}
	}
	if got := ends(split, all, oneByOne); !slices.Equal(got, want) {
		t.Errorf("%s, one by one %v: messages end at %v, want %v", side, oneByOne, got, want)
	}
}

func TestWhatIsQueuedInRedisIsSentWhenNothingFollows(t *testing.T) {
	t.Parallel()
	c := Redis().Open()
	multi, set := command("MULTI"), command("SET", "order", "1")
	if _, part := c.Client(slices.Concat(multi, set)); part != Within {
		t.Errorf("with more to come: %d", part)
	}
	if _, part := c.Client(set); part != Flush {
		t.Errorf("with nothing to come: %d", part)
	}
}

// It makes no difference in which pieces bytes arrive, and nothing is made of bytes that are not there.
func FuzzRedis(f *testing.F) {
	f.Add(command("GET", "order"), []byte("$1\r\n1\r\n"))
	f.Add([]byte("MULTI\r\nGET order\r\nEXEC\r\n"), []byte("+OK\r\n+QUEUED\r\n*1\r\n_\r\n"))
	f.Add(command("SUBSCRIBE", "a", "a"), []byte(channel('*', "subscribe", "a", 1)+channel('>', "subscribe", "a", 1)))
	f.Add([]byte("UNSUBSCRIBE\r\n"), []byte("*3\r\n$11\r\nunsubscribe\r\n$-1\r\n:0\r\n"))
	f.Add([]byte("*1\r\n$2147483647\r\n"), []byte("*2147483647\r\n|2147483647\r\n%2147483647\r\n"))
	f.Add([]byte("*-2\r\n$-1\r\n"), []byte("|1\r\n+a\r\n+b\r\n>1\r\n+a\r\n!3\r\nERR\r\n"))
	f.Add([]byte("PSYNC ? -1\r\n"), []byte("+CONTINUE\r\n"))
	f.Fuzz(func(t *testing.T, client, server []byte) {
		whole, pieces := Redis().Open(), Redis().Open()
		for _, side := range []struct {
			whole, pieces func([]byte) (int, Part)
			bytes         []byte
		}{{whole.Client, pieces.Client, client}, {whole.Server, pieces.Server, server}, {whole.Client, pieces.Client, client}, {whole.Server, pieces.Server, server}} {
			at, by := ends(side.whole, side.bytes, false), ends(side.pieces, side.bytes, true)
			if !slices.Equal(at, by) || slices.Contains(at, -1) {
				t.Errorf("messages end at %v in one piece, at %v byte by byte", at, by)
			}
		}
	})
}
