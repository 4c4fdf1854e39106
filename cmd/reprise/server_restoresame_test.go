package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/meter"
	"github.com/reprise-dev/reprise/meter/meterledger"
	"github.com/reprise-dev/reprise/meter/meterrestore/restoretest"
	"github.com/reprise-dev/reprise/restore"
)

// What SQL has is restored into two Redis servers: into one by one process that nobody disturbs, into the other while everything goes
// wrong that can. All keys of both are the same, to the byte.
func TestADisturbedRestoreComesToTheSame(t *testing.T) {
	t.Parallel()
	lines, rate := 2_000, "500"
	if proving() {
		lines, rate = 1_000_000, "4000"
	}
	postgres := servicetest.NewPostgres(t, servicetest.PostgresOptions{Unsafe: true})
	truth := newTruth(t, postgres, lines)
	calm, disturbed := twin(t, postgres, truth, "calm"), twin(t, postgres, truth, "disturbed")
	calm.call(0, "start").has("complete, verified, and the gate is open")
	c := crewOf(disturbed)
	c.begin(4, "--why", "Redis was emptied")
	c.slow(rate) // while it drains
	c.disturb(postgres)
	c.finish()
	want, got := calm.image(), disturbed.image()
	t.Logf("%d lines restored twice: %d keys, %x and %x; %d processes were killed", lines, len(want), want.digest(), got.digest(), c.kills)
	if len(want) < 10*lines || want.digest() != got.digest() {
		t.Errorf("%d keys, and disturbed %d", len(want), len(got))
		calm.not(got, "only undisturbed")
		disturbed.not(want, "only disturbed")
	}
}

// disturb does to a restore of four processes whatever may happen to it: its manager is killed five times, in different steps; two of three
// workers are killed; Redis is emptied again; a worker stands still for longer than its lease, and goes on; SQL is restarted.
func (c *crew) disturb(postgres *servicetest.PostgresServer) {
	c.t.Helper()
	c.until(0, 10)
	c.kill(c.manager())
	c.until(0, 25)
	c.kill(c.worker())
	c.kill(c.worker())
	c.until(0, 40)
	c.kill(c.manager())
	c.until(0, 60)
	c.server.FlushAll()
	c.eventually("the loss is noticed", func(p *restore.Progress) bool { return p.Session.Losses == 1 })
	c.kill(c.manager()) // it closes the gate, or drains
	c.until(1, 15)
	c.freeze(c.worker())
	c.until(1, 45)
	postgres.Restart()
	c.until(1, 65)
	c.kill(c.manager())
	c.until(1, 80)
	c.eventually("it verifies", func(p *restore.Progress) bool { return p.Session.State == restore.Verifying })
	c.kill(c.manager())
}

// newTruth is a ledger with lines and families, of which some rows no fold has taken in, policies of all kinds, and grants that no Redis has
// had. It returns the name of its database, to which nobody is connected.
func newTruth(t *testing.T, postgres *servicetest.PostgresServer, lines int) (database string) {
	t.Helper()
	ctx, dsn := t.Context(), postgres.Database(t)
	ledger, err := meterledger.Open(ctx, dsn, meterledger.Options{Migrate: true})
	if err == nil {
		_, err = restore.Migrate(ctx, dsn)
	}
	if err == nil {
		err = restoretest.Populate(ctx, dsn, lines)
	}
	if err != nil {
		t.Fatal(err)
	}
	globals, err := ledger.Policies(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	put := func(line string, id meter.PolicyID, seen int64, name, value string) {
		if _, err := ledger.PutPolicy(ctx, line, id, seen, []meter.Field{{Name: name, Value: value}}, "test"); err != nil {
			t.Fatalf("policy %v of %q: %v", id, line, err)
		}
	}
	put("", meter.LineCap, globals.Global.Get(meter.LineCap).Version(), "cap", "3000000")
	put("", meter.AppSpeed, globals.Global.Get(meter.AppSpeed).Version(), "qos", "64")
	month := meter.Calendar{}.Month(time.Now())
	for i := 0; i < lines; i += 40 {
		line := fmt.Sprintf("line-%07d", i)
		put(line, meter.LineBlocked, 0, "blocked", "yes")
		put(line, meter.SharedCap, 0, "cap", "5000")
		for _, grant := range []meter.Grant{
			{ID: "line-" + line, Kind: meter.TopUp, Line: line, Month: month, Individual: 77, QoS: 7},
			{ID: "family-" + line, Kind: meter.TopUp, Family: fmt.Sprintf("family-%06d", i/10), Month: month, Shared: 777},
		} {
			if _, err := ledger.AddGrant(ctx, grant); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := ledger.Close(); err != nil {
		t.Fatal(err)
	}
	_, database, _ = strings.Cut(dsn, "/test_")
	database, _, _ = strings.Cut(database, "?")
	return "test_" + database
}

// twin is a site on a copy of a ledger, with an empty Redis of its own.
func twin(t *testing.T, postgres *servicetest.PostgresServer, truth, name string) *restoreSite {
	t.Helper()
	postgres.Exec("postgres", "CREATE DATABASE "+name+" OWNER app TEMPLATE "+truth)
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	s := &restoreSite{t: t, server: server, redis: server.DSN(1), dsn: postgres.DSN(name)}
	s.connect()
	return s
}

// image is what a Redis holds: the digest of each of its keys. A million lines have ten million keys.
type image map[[8]byte]struct{}

func digestOfKey(line string) [8]byte {
	sum := sha256.Sum256([]byte(line))
	return [8]byte(sum[:8])
}

// digest is that of all keys, in whatever order they were read.
func (i image) digest() [sha256.Size]byte {
	sum := sha256.New()
	for _, key := range slices.SortedFunc(maps.Keys(i), func(a, b [8]byte) int { return bytes.Compare(a[:], b[:]) }) {
		_, _ = sum.Write(key[:]) // never fails
	}
	return [sha256.Size]byte(sum.Sum(nil))
}

func (s *restoreSite) image() image {
	s.t.Helper()
	all := image{}
	s.everything(func(line string) { all[digestOfKey(line)] = struct{}{} })
	return all
}

// not tells which keys another Redis does not have so, some of them.
func (s *restoreSite) not(other image, who string) {
	s.t.Helper()
	shown := 0
	s.everything(func(line string) {
		if _, same := other[digestOfKey(line)]; !same && shown < 10 {
			shown++
			s.t.Errorf("%s: %s", who, line)
		}
	})
}

// everything makes a line of each key that Redis has: name, type, what is in it, and when it expires.
func (s *restoreSite) everything(do func(line string)) {
	s.t.Helper()
	own := s.ownWords()
	for cursor := "0"; ; {
		page, err := s.byHand.Do("SCAN", cursor, "COUNT", "1000")
		if err != nil {
			s.t.Fatal(err)
		}
		names := page.([]any)[1].([]any)
		types, expiries := s.each(names, "TYPE"), s.each(names, "PEXPIRETIME")
		for kind, read := range map[string]string{"string": "GET", "hash": "HGETALL", "": "DUMP"} {
			var some, of, until []any
			for i, name := range names {
				if is := types[i]; is == kind || kind == "" && is != "string" && is != "hash" {
					some, of, until = append(some, name), append(of, types[i]), append(until, expiries[i])
				}
			}
			for i, value := range s.each(some, read) {
				do(fmt.Sprintf("%v: %v %v until %v", some[i], of[i], own.without(some[i].(string), value), until[i]))
			}
		}
		if cursor = page.([]any)[0].(string); cursor == "0" {
			return
		}
	}
}

// each asks the same of many keys at once.
func (s *restoreSite) each(keys []any, word string) (replies []any) {
	s.t.Helper()
	commands := make([][]string, len(keys))
	for i, key := range keys {
		commands[i] = []string{word, key.(string)}
	}
	err := s.byHand.Send(commands...)
	for range keys {
		var reply any
		if err == nil {
			reply, err = s.byHand.Receive()
		}
		replies = append(replies, reply)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return replies
}

// ownWords are what each restore has of its own, by where it stands. Whatever else stands there is compared as it is.
type ownWords map[string]string

func (s *restoreSite) ownWords() ownWords {
	s.t.Helper()
	last := s.watch()().Session
	raw, err := hex.DecodeString(last.Generation)
	if err != nil {
		s.t.Fatal(err)
	}
	info := s.server.Info()
	return ownWords{
		"generation of a unit":   last.Generation, // chosen at random, and another one after a loss
		"generation of a bucket": string(raw),
		"identities":             info["run_id"] + ":" + info["master_replid"],                                                             // of the server
		"fence":                  fmt.Sprint(s.query("SELECT epoch FROM reprise.meter_fence")[0]),                                          // raised by each process that takes over
		"version of the gate":    fmt.Sprint(s.query("SELECT max(version) FROM reprise.meter_policies WHERE line = '' AND policy = 8")[0]), // raised each time that it is closed, or opened
	}
}

// without is what a key has, without what is its restore's own. Fields of a hash have no order.
func (own ownWords) without(key string, value any) any {
	text := func(where string, value any) string {
		if value == own[where] {
			return "the " + where
		}
		return fmt.Sprintf("%q", value)
	}
	bucketed := strings.HasPrefix(key, "meter:")
	switch _, what, _ := strings.Cut(key, "}:"); {
	case bucketed && what == "acts": // who did when what leads to other identities and generations
		return "the acts"
	case bucketed && what == "generation":
		return text("generation of a bucket", value)
	case bucketed && what == "identities":
		return text("identities", value)
	case strings.HasPrefix(key, "fence:"):
		return text("fence", value)
	}
	list, ok := value.([]any)
	if !ok {
		return text("", value)
	}
	var fields []string
	for pair := range slices.Chunk(list, 2) {
		name, is := pair[0].(string), text("", pair[1])
		switch unit := strings.HasPrefix(key, "unit:"); {
		case unit && name == "generation":
			is = text("generation of a unit", pair[1])
		case unit && name == "since": // the clock of SQL when it was written, and the tolerance
			is = "a time"
		case strings.HasPrefix(key, "policy:") && strings.HasSuffix(key, "}:8") && name == "version":
			is = text("version of the gate", pair[1])
		}
		fields = append(fields, name+"="+is)
	}
	slices.Sort(fields)
	return fields
}
