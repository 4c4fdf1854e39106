package redisstore

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
)

// database is a store of a test's own on a server that tests share.
type database struct {
	testing.TB
	dsn     string
	options Options
	client  rueidis.Client
	names   names
	ahead   atomic.Int64 // of the server's clock, in milliseconds

	mu sync.Mutex // of advance
}

// newDatabase is a store on a database that nobody else uses.
func newDatabase(t testing.TB) *database {
	t.Helper()
	return databaseOn(t, servicetest.Redis(t).Database(t))
}

// databaseOn is a store under a prefix of its own, whose DSN says more, such as &wait=1.
func databaseOn(t testing.TB, dsn string, more ...string) *database {
	t.Helper()
	d := &database{TB: t, dsn: dsn + "?prefix=" + rand.Text() + ":" + strings.Join(more, "")}
	d.options.offset = func() time.Duration { return time.Duration(d.ahead.Load()) * time.Millisecond }
	parsed, option, err := parse(d.dsn)
	if err != nil {
		t.Fatal(err)
	}
	client, err := connect(option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	d.client, d.names = client, names{parsed.prefix}
	if err := InitNew(t.Context(), d.dsn, d.options); err != nil {
		t.Fatal(err)
	}
	return d
}

// advance moves the store's clock. What has an end comes nearer to it by as much, and so was born earlier by as
// much on the server's clock.
func (d *database) advance(by time.Duration) {
	d.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	ms := int64((by + time.Millisecond - 1) / time.Millisecond)
	d.ahead.Add(ms)
	keys := d.records()
	var move rueidis.Commands
	for _, key := range keys {
		move = append(move, d.client.B().Eval().Script(earlier).Numkeys(1).Key(key).Arg(strconv.FormatInt(ms, 10)).Build())
	}
	for _, moved := range d.client.DoMulti(context.Background(), move...) {
		if err := moved.Error(); err != nil {
			d.Fatal(err)
		}
	}
}

// earlier is a script by which a key ends so many milliseconds earlier, if it has an end, on a server of any version.
var earlier = expiryLua + `
local expiry = expiryOf(KEYS[1])
if expiry > 0 then
	redis.call('PEXPIREAT', KEYS[1], expiry - ARGV[1])
end
return 1
`

// records returns the keys of all records, void ones too.
func (d *database) records() []string { return d.keys(d.names.records()) }

// empty deletes all that the store has. Every scan of a server that tests share looks at what others have left there.
func (d *database) empty() {
	d.Helper()
	var remove rueidis.Commands
	for _, key := range d.keys(d.names.prefix + "*") {
		remove = append(remove, d.client.B().Unlink().Key(key).Build())
	}
	for _, removed := range d.client.DoMulti(context.Background(), remove...) {
		if err := removed.Error(); err != nil {
			d.Error(err)
		}
	}
}

// keys returns the keys that match a pattern.
func (d *database) keys(pattern string) (keys []string) {
	d.Helper()
	nodes, err := (&Store{client: d.client}).primaries(context.Background())
	if err != nil {
		d.Fatal(err)
	}
	for _, n := range nodes {
		for cursor := uint64(0); ; {
			entry, err := n.client.Do(context.Background(), n.client.B().Scan().Cursor(cursor).Match(pattern).Count(10_000).Build()).AsScanEntry()
			if err != nil {
				d.Fatal(err)
			}
			keys = append(keys, entry.Elements...)
			if cursor = entry.Cursor; cursor == 0 {
				break
			}
		}
	}
	return keys
}

// record returns the key of a record that is there, empty if there is none.
func (d *database) record(digest machine.Digest) string {
	d.Helper()
	for _, key := range d.records() {
		if strings.HasSuffix(key, string(digest[:])) {
			return key
		}
	}
	return ""
}

// open opens a store that is closed at the end of the test.
func (d *database) open() *Store {
	d.Helper()
	s, err := Open(d.Context(), d.dsn, d.options)
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.Errorf("close: %v", err)
		}
	})
	return s
}

// do sends a command of Redis, which must not fail.
func (d *database) do(words ...string) rueidis.RedisResult {
	d.Helper()
	result := d.client.Do(context.Background(), d.client.B().Arbitrary(words...).Build())
	if err := result.Error(); err != nil && !rueidis.IsRedisNil(err) {
		d.Fatalf("%v: %v", words, err)
	}
	return result
}

// want runs a command that must not fail, and checks what it comes to.
func want(t testing.TB, s *Store, outcome machine.Outcome, command machine.Command) machine.Reply {
	t.Helper()
	reply, err := s.Apply(t.Context(), command)
	if err != nil || reply.Outcome != outcome {
		t.Fatalf("%v: %v (%s), %v; want %v", command.Kind(), reply.Outcome, reply.Reason, err, outcome)
	}
	return reply
}

func newBegin() machine.Begin {
	return machine.Begin{
		Claim: machine.Claim{
			Scope: machine.Scope{Operation: "POST /orders", SecretVersion: 1, Digest: random[machine.Digest]()},
			Owner: random[machine.Token](), Operation: random[machine.ID](),
			Fingerprints: []machine.Fingerprint{{Version: 1, Sum: machine.Digest{1}}},
			Lease:        time.Minute, Policy: 1, Codecs: []string{"raw/1"},
		},
		Nonce: random[machine.Nonce](),
	}
}

func anotherCaller(b machine.Begin) machine.Begin {
	b.Owner, b.Operation, b.Nonce = random[machine.Token](), random[machine.ID](), random[machine.Nonce]()
	return b
}

func completion(b machine.Begin, answer string) machine.Complete {
	return machine.Complete{
		Hold:     machine.Hold{Scope: b.Scope, Owner: b.Owner, Attempt: 1, Revision: 1, Operation: b.Operation, Nonce: b.Nonce},
		Response: machine.NewResponse("raw/1", []byte(answer)), Window: time.Hour, Remember: 2 * time.Hour,
	}
}

func random[T machine.Digest | machine.Token | machine.ID | machine.Nonce]() (value T) {
	switch v := any(&value).(type) {
	case *machine.Digest:
		_, _ = rand.Read(v[:])
	case *machine.Token:
		_, _ = rand.Read(v[:])
	case *machine.ID:
		_, _ = rand.Read(v[:])
	case *machine.Nonce:
		_, _ = rand.Read(v[:])
	}
	return value
}
