package redisstore

import (
	"errors"
	"testing"

	"github.com/reprise-dev/reprise/internal/servicetest"
	"github.com/reprise-dev/reprise/machine"
	"github.com/reprise-dev/reprise/store"
)

// What is only in Redis 7 is not used where a server is older.
func TestOlderRedisIsAskedForNothingNew(t *testing.T) {
	t.Parallel()
	server := servicetest.NewRedis(t, servicetest.RedisOptions{Persistence: servicetest.PersistNothing})
	d := databaseOn(t, server.DSN(1))
	d.options.older = true
	server.Do("CONFIG", "RESETSTAT")
	s := d.open()
	begin, unknown := newBegin(), newBegin()
	want(t, s, machine.Acquired, begin)
	want(t, s, machine.CompletedNow, completion(begin, "answer"))
	want(t, s, machine.Replay, anotherCaller(begin))
	want(t, s, machine.Acquired, unknown)
	want(t, s, machine.Failed, unknownFailure(unknown))
	e := newEffect(t, `if redis.call('INCR', KEYS[1]) == 1 then error('after a write') end`)
	if _, err := e.Do(t.Context(), s, invocation("key", "tag"), []string{d.business("tag", "n")}); err == nil {
		t.Error("an effect with an error has an answer")
	}
	again := newEffect(t, increment)
	for range 2 {
		if got, err := again.Do(t.Context(), s, invocation("another key", "tag"), []string{d.business("tag", "n")}, "1"); err != nil || string(got.Response.Data) != "now 2" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if page, err := s.List(t.Context(), store.Filter{}, "", 10); err != nil || len(page.Records) != 4 {
		t.Errorf("%+v, %v", page, err)
	}
	// That claims are no transactions shows in it too: those ask when what they have made expires.
	if n := calls(t, server)["pexpiretime"]; n != 0 {
		t.Errorf("pexpiretime was called %d times", n)
	}
}

// A process that knows its servers as new ones does not go on on an older one.
func TestOlderRedisInThePlaceOfANewOne(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	s := d.open()
	if err := s.dialer.fits(member{version: "6.2.14"}); !errors.Is(err, errOlder) {
		t.Errorf("an older server: %v", err)
	}
	d.options.older = true
	for _, s := range []*Store{d.open(), s} {
		if err := s.dialer.fits(member{version: "7.0.15"}); err != nil {
			t.Errorf("a new server: %v", err)
		}
	}
}
